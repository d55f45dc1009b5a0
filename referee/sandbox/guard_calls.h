/* The system calls that no bot needs, by what it gets for one. All others are allowed. */

#ifndef GUARD_CALLS_H
#define GUARD_CALLS_H

/* Attacks on other processes and on the machine: the bot is ended, and the call is named. */
#define FORBIDDEN(X) \
    X(ptrace) X(process_vm_readv) X(process_vm_writev) X(kcmp) X(pidfd_getfd) X(open_by_handle_at) \
    X(mount) X(umount2) X(pivot_root) X(open_tree) X(move_mount) X(fsopen) X(fsmount) X(fspick) X(mount_setattr) \
    X(init_module) X(finit_module) X(delete_module) X(kexec_load) X(reboot) X(swapon) X(swapoff) X(acct) \
    X(settimeofday) X(clock_settime) X(sethostname) X(setdomainname) X(quotactl) X(bpf) X(vhangup)

/* What a runtime may try and do without: refused as not permitted. */
#define REFUSED(X) \
    X(unshare) X(setns) X(chroot) X(add_key) X(request_key) X(keyctl) X(perf_event_open) X(userfaultfd) \
    X(fanotify_init) X(syslog) X(adjtimex) X(clock_adjtime) X(lookup_dcookie) X(process_madvise) \
    X(migrate_pages) X(move_pages)

/* What a program tries to see whether there is such a thing: as if there were not. */
#define UNKNOWN(X) X(io_uring_setup) X(io_uring_enter) X(io_uring_register) X(clone3)

#endif
