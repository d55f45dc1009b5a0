/* System calls that no bot needs, grouped by the consequence of calling them. All others are allowed. */

#ifndef GUARD_CALLS_H
#define GUARD_CALLS_H

#include <asm/unistd.h>

/* Attacks on other processes and on the machine: the bot is killed, and the call is reported. */
#define FORBIDDEN(X) \
    X(ptrace) X(process_vm_readv) X(process_vm_writev) X(pidfd_getfd) X(open_by_handle_at) \
    X(mount) X(umount2) X(pivot_root) X(open_tree) X(move_mount) X(fsopen) X(fsmount) X(fspick) X(mount_setattr) \
    X(init_module) X(finit_module) X(delete_module) X(kexec_load) X(reboot) X(swapon) X(swapoff) X(acct) \
    X(settimeofday) X(clock_settime) X(sethostname) X(setdomainname) X(quotactl) X(bpf) X(vhangup)
#ifdef __NR_kexec_file_load
#define SOMETIMES_FORBIDDEN(X) X(kexec_file_load)
#else
#define SOMETIMES_FORBIDDEN(X)
#endif
/* By number, because some headers lack them. */
#define LATE_FORBIDDEN(X) X(quotactl_fd, 443) X(open_tree_attr, 467)

/* Calls that a runtime may try, but can do without: refused with EPERM. */
#define REFUSED(X) \
    X(unshare) X(setns) X(chroot) X(add_key) X(request_key) X(keyctl) X(perf_event_open) X(userfaultfd) \
    X(fanotify_init) X(fanotify_mark) X(name_to_handle_at) X(get_robust_list) X(syslog) X(adjtimex) \
    X(clock_adjtime) X(lookup_dcookie) X(process_madvise) X(migrate_pages) X(move_pages) X(kcmp) X(sync) X(syncfs)
#ifdef __NR_ioperm
#define OLD_REFUSED(X) X(ioperm) X(iopl)
#else
#define OLD_REFUSED(X)
#endif

/* Calls that the kernel seems not to have: programs look whether they exist, and do without them. From timer_create on,
   each lets the kernel work later, in an interrupt or a thread of its own. No group is charged for that work and no
   freezer stops it, so it would run on the clock of the opponent. */
#define UNKNOWN(X) \
    X(io_uring_setup) X(io_uring_enter) X(io_uring_register) X(clone3) \
    X(timer_create) X(signalfd4) X(inotify_init1) X(inotify_add_watch) \
    X(io_setup) X(io_submit) X(io_getevents) X(io_pgetevents) X(io_cancel) X(io_destroy) \
    X(mq_open) X(mq_unlink) X(mq_timedsend) X(mq_timedreceive) X(mq_notify) X(mq_getsetattr)
#ifdef __NR_signalfd
#define OLD_UNKNOWN(X) X(signalfd) X(inotify_init)
#else
#define OLD_UNKNOWN(X)
#endif

/* Calls from this number on are unknown, too, so that a new kernel opens nothing by itself. Every
   machine has the same numbers here. Known are fchmodat2, map_shadow_stack and mseal, which C libraries use. */
enum { LATE_CALLS = 447 };
#define LATE_KNOWN(X) X(452) X(453) X(462)

/* Memory, semaphores and queues of the whole machine, which no end of a process removes: where no namespace keeps them. */
#define KEPT_FOR_ALL(X) \
    X(shmget) X(shmat) X(shmctl) X(semget) X(semop) X(semtimedop) X(semctl) X(msgget) X(msgsnd) X(msgrcv) X(msgctl)

/* Where a program is our own user, and no namespace keeps the files of that user away: Landlock looks at none of these.
   fchmodat2 by number, for headers that do not know it. */
#define OF_FILES(X) \
    X(fchmod) X(fchmodat) X(fchown) X(fchownat) X(utimensat) \
    X(setxattr) X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr)
#define LATE_OF_FILES(X) X(452)
#ifdef __NR_chmod
#define OLD_OF_FILES(X) X(chmod) X(chown) X(lchown) X(utime) X(utimes) X(futimesat)
#else
#define OLD_OF_FILES(X)
#endif

/* There a program does this to itself alone: the first word is 0. */
#define OF_ITSELF(X) X(prlimit64) X(sched_setscheduler) X(sched_setparam) X(sched_setattr) X(sched_setaffinity)

#endif
