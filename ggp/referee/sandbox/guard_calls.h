/* The system calls that no bot needs, by what it gets for one. All others are allowed. */

#ifndef GUARD_CALLS_H
#define GUARD_CALLS_H

#include <asm/unistd.h>

/* Attacks on other processes and on the machine: the bot is ended, and the call is named. */
#define FORBIDDEN(X) \
    X(ptrace) X(process_vm_readv) X(process_vm_writev) X(pidfd_getfd) X(open_by_handle_at) \
    X(mount) X(umount2) X(pivot_root) X(open_tree) X(move_mount) X(fsopen) X(fsmount) X(fspick) X(mount_setattr) \
    X(init_module) X(finit_module) X(delete_module) X(kexec_load) X(reboot) X(swapon) X(swapoff) X(acct) \
    X(settimeofday) X(clock_settime) X(sethostname) X(setdomainname) X(quotactl) X(bpf) X(vhangup)

/* What a runtime may try and do without: refused as not permitted. */
#define REFUSED(X) \
    X(unshare) X(setns) X(chroot) X(add_key) X(request_key) X(keyctl) X(perf_event_open) X(userfaultfd) \
    X(fanotify_init) X(syslog) X(adjtimex) X(clock_adjtime) X(lookup_dcookie) X(process_madvise) \
    X(migrate_pages) X(move_pages) X(kcmp)

/* What a program tries to see whether there is such a thing: as if there were not. */
#define UNKNOWN(X) X(io_uring_setup) X(io_uring_enter) X(io_uring_register) X(clone3)

/* Memory, semaphores and queues of the whole machine, which no end of a process removes: where no namespace keeps them. */
#define KEPT_FOR_ALL(X) \
    X(shmget) X(shmat) X(shmctl) X(semget) X(semop) X(semtimedop) X(semctl) X(msgget) X(msgsnd) X(msgrcv) X(msgctl) \
    X(mq_open) X(mq_unlink)

/* Where a program is our own user, and no namespace keeps the files of that user away: Landlock looks at none of these.
   The last ones by number, for headers that do not know them: fchmodat2, setxattrat, removexattrat, file_setattr. */
#define OF_FILES(X) \
    X(fchmod) X(fchmodat) X(fchown) X(fchownat) X(utimensat) \
    X(setxattr) X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr)
#define LATE_OF_FILES(X) X(452) X(463) X(466) X(469)
#ifdef __NR_chmod
#define OLD_OF_FILES(X) X(chmod) X(chown) X(lchown) X(utime) X(utimes) X(futimesat)
#else
#define OLD_OF_FILES(X)
#endif

/* There a program does this to itself alone: the first word is 0. */
#define OF_ITSELF(X) X(prlimit64) X(sched_setscheduler) X(sched_setparam) X(sched_setattr) X(sched_setaffinity)

#endif
