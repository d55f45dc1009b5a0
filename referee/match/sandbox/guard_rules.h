/* Steps of the guard that restrict files, sockets and system calls. Only guard.c includes this. */

#ifndef GUARD_RULES_H
#define GUARD_RULES_H

/* -- Landlock, with its constants, which some headers lack -- */

static uint64_t file_rights;

/* landlock NETWORK: begin the set of rules that this kernel supports. NETWORK is 1 to leave the network open. */
static long begin_rules(char **word)
{
    uint64_t attributes[3] = {0};
    long version = call6(444, 0, 0, 1, 0, 0, 0);
    if (version < 1)
        return version < 0 ? version : -ENOSYS;
    file_rights = (1 << 13) - 1;
    file_rights |= version >= 2 ? 1 << 13 : 0;
    file_rights |= version >= 3 ? 1 << 14 : 0;
    file_rights |= version >= 5 ? 1 << 15 : 0;
    attributes[0] = file_rights;
    attributes[1] = version >= 4 && *word[0] != '1' ? 3 : 0;
    attributes[2] = version >= 6 ? 3 : 0;
    ruleset = call6(444, (long)attributes, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0, 0, 0, 0);
    return ruleset;
}

/* path RIGHTS PATH: r to read and execute, w for everything, d for a device. A missing path is skipped. */
static long allow_path(char **word)
{
    struct __attribute__((packed)) { uint64_t rights; int32_t at; } rule;
    struct statx about;
    uint64_t on_files = 1 | 2 | 4 | 1 << 14 | 1 << 15;
    rule.rights = *word[0] == 'w' ? file_rights : *word[0] == 'd' ? 2 | 4 | 8 | 1 << 14 | 1 << 15 : 1 | 4 | 8;
    long at = CALL(openat, AT_HERE, word[1], O_PATH | O_CLOEXEC, 0, 0);
    if (at < 0)
        return at == -ENOENT || at == -EACCES ? 0 : at;
    long done = CALL(statx, at, "", AT_EMPTY, STATX_TYPE, &about);
    if (done >= 0 && (about.stx_mode & 0170000) != 0040000)
        rule.rights &= on_files;
    rule.rights &= file_rights;
    rule.at = (int32_t)at;
    done = done < 0 ? done : call6(445, ruleset, 1, (long)&rule, 0, 0, 0);
    CALL(close, at, 0, 0, 0, 0);
    return done;
}

static long obey_rules(char **word)
{
    (void)word;
    return call6(446, ruleset, 0, 0, 0, 0, 0);
}

/* -- seccomp ------------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#else
#define MACHINE 0
#endif

enum { NETWORK = 1, SPREAD = 2, OUR_USER = 4, SHARED = 8 };
static struct sock_filter program[1024];
static unsigned short lines;
static int is_filtered;

static void filter(unsigned short code, uint32_t value, unsigned char yes, unsigned char no)
{
    program[lines++] = (struct sock_filter){code, yes, no, value};
}

static void when(uint32_t call, uint32_t then)
{
    filter(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    filter(BPF_RET | BPF_K, then, 0, 0);
}

static void load(uint32_t at)
{
    filter(BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

/* Apply `action` to a call unless the argument at this place has this value. */
static void when_not(uint32_t call, uint32_t at, uint32_t value, uint32_t then)
{
    filter(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
    load(at);
    filter(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    filter(BPF_RET | BPF_K, then, 0, 0);
    load(offsetof(struct seccomp_data, nr));
}

/* Apply `found` if this argument is one of the values. The number of the call stays loaded. */
static void when_among(uint32_t call, uint32_t at, const uint32_t *values, unsigned char count, uint32_t found)
{
    filter(BPF_JMP | BPF_JEQ | BPF_K, call, 0, (unsigned char)(count + 4));
    load(at);
    for (unsigned char left = count; left; left--)
        filter(BPF_JMP | BPF_JEQ | BPF_K, *values++, left, 0);
    filter(BPF_JMP | BPF_JA, 1, 0, 0);
    filter(BPF_RET | BPF_K, found, 0, 0);
    load(offsetof(struct seccomp_data, nr));
}

/* Signals by descriptors (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETFL with O_ASYNC), leases, notices about folders: work
   of whoever touches the file. F_GETLK and F_OFD_GETLK would show the locks of other bots on files that all may read. */
static void refuse_descriptor_orders(uint32_t refused)
{
    static const uint32_t orders[] = {8, 10, 15, 5, 36, 1024, 1026, 1040};
    static const uint32_t requests[] = {0x5412, 0x541C, 0x5452, 0x8901, 0x8902};
    uint32_t first = offsetof(struct seccomp_data, args);
    when_among(__NR_fcntl, first + 8, orders, sizeof orders / sizeof *orders, refused);
    filter(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 6);
    load(first + 8);
    filter(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 3); /* F_SETFL */
    load(first + 16);
    filter(BPF_JMP | BPF_JSET | BPF_K, 020000, 0, 1); /* O_ASYNC */
    filter(BPF_RET | BPF_K, refused, 0, 0);
    filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    /* TIOCSTI, TIOCLINUX: input for a terminal; FIOASYNC, FIOSETOWN, SIOCSPGRP: signals by descriptors. */
    when_among(__NR_ioctl, first + 8, requests, sizeof requests / sizeof *requests, refused);
}

/* Calls that the process that stays decides: see guard_answers.h. Without a listener nobody answers. */
static void ask_about_descriptors(int heard)
{
    static const uint32_t add[] = {1}, exclusive[] = {2, 2 | 4}; /* EPOLL_CTL_ADD; LOCK_EX, LOCK_NB */
    uint32_t first = offsetof(struct seccomp_data, args);
    when(__NR_timerfd_create, heard ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | ENOSYS);
    if (!heard)
        return;
    when(__NR_epoll_create1, SECCOMP_RET_USER_NOTIF);
#ifdef __NR_epoll_create
    when(__NR_epoll_create, SECCOMP_RET_USER_NOTIF);
#endif
    when_among(__NR_epoll_ctl, first + 8, add, 1, SECCOMP_RET_USER_NOTIF);
    when_among(__NR_flock, first + 8, exclusive, 2, SECCOMP_RET_USER_NOTIF);
}

/* Calls by which a program with our user ID could reach our files and processes. */
static void protect_our_user(uint32_t refused)
{
    uint32_t first = offsetof(struct seccomp_data, args);
#define REFUSE_CALL(name) when(__NR_##name, refused);
#define REFUSE_NUMBER(number) when(number, refused);
#define REFUSE_OTHERS(name) when_not(__NR_##name, first, 0, refused);
    OF_FILES(REFUSE_CALL)
    OLD_OF_FILES(REFUSE_CALL)
    LATE_OF_FILES(REFUSE_NUMBER)
    OF_ITSELF(REFUSE_OTHERS)
    when_not(__NR_setpriority, first, 0, refused); /* only one process, not all of a user */
    when_not(__NR_setpriority, first + 8, 0, refused);
    when_not(__NR_ioprio_set, first, 1, refused);
    when_not(__NR_ioprio_set, first + 8, 0, refused);
}

/* seccomp BITS: NETWORK: sockets of the internet are allowed; SPREAD: other cores, too; OUR_USER: it is our own user,
   without namespaces; SHARED: objects that it leaves in the kernel would stay and be visible to others. */
static long filter_calls(char **word)
{
    uint32_t refused = SECCOMP_RET_ERRNO | EPERM, denied = SECCOMP_RET_ERRNO | EACCES;
    uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS, forbidden;
    uint32_t first = offsetof(struct seccomp_data, args);
    static const uint32_t advice[] = {3, 4}; /* POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED */
    long bits = number(word[0]);
    for (int heard = has_init != 0; heard >= 0; heard--) {
        forbidden = heard ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_KILL_PROCESS;
        lines = 0;
        load(offsetof(struct seccomp_data, arch));
        filter(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
        filter(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
        load(offsetof(struct seccomp_data, nr));
        filter(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
        filter(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#define FORBID(name) when(__NR_##name, forbidden);
#define REFUSE(name) when(__NR_##name, refused);
#define HIDE(name) when(__NR_##name, unknown);
#define FORBID_NUMBER(name, number) when(number, forbidden);
#define KNOW_NUMBER(number) when(number, SECCOMP_RET_ALLOW);
        FORBIDDEN(FORBID)
        SOMETIMES_FORBIDDEN(FORBID)
        LATE_FORBIDDEN(FORBID_NUMBER)
        REFUSED(REFUSE)
        OLD_REFUSED(REFUSE)
        UNKNOWN(HIDE)
        OLD_UNKNOWN(HIDE)
        /* Advice about shared files would slow down or speed up other programs, so it succeeds without effect. */
        when(__NR_readahead, SECCOMP_RET_ERRNO);
        when_among(__NR_fadvise64, first + 24, advice, 2, SECCOMP_RET_ERRNO);
        if (!(bits & SPREAD))
            when(__NR_sched_setaffinity, refused);
        if (bits & OUR_USER)
            protect_our_user(refused);
        if (bits & SHARED) {
            KEPT_FOR_ALL(HIDE)
        }
        /* Datagram sockets of a pair could be connected again, to sockets of other programs. */
        filter(BPF_JMP | BPF_JEQ | BPF_K, __NR_socketpair, 0, 6);
        load(first + 8);
        filter(BPF_ALU | BPF_AND | BPF_K, 15, 0, 0);
        filter(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0); /* SOCK_STREAM */
        filter(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1); /* SOCK_SEQPACKET */
        filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        filter(BPF_RET | BPF_K, denied, 0, 0);
        if (bits & NETWORK) { /* IPv4, IPv6, and netlink to query them */
            filter(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 6);
            load(first);
            filter(BPF_JMP | BPF_JEQ | BPF_K, 2, 2, 0);
            filter(BPF_JMP | BPF_JEQ | BPF_K, 10, 1, 0);
            filter(BPF_JMP | BPF_JEQ | BPF_K, 16, 0, 1);
            filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
            filter(BPF_RET | BPF_K, denied, 0, 0);
        } else { /* socket pairs need none of these calls, and a named socket would be visible to all programs */
            when(__NR_socket, denied);
            when(__NR_bind, denied);
            when(__NR_connect, denied);
            when(__NR_listen, denied);
        }
        filter(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4); /* no new namespaces */
        load(first);
        filter(BPF_JMP | BPF_JSET | BPF_K, 0x7E020000, 0, 1);
        filter(BPF_RET | BPF_K, refused, 0, 0);
        filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        refuse_descriptor_orders(refused);
        ask_about_descriptors(heard);
        filter(BPF_JMP | BPF_JGE | BPF_K, LATE_CALLS, 1, 0);
        filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
        LATE_KNOWN(KNOW_NUMBER)
        filter(BPF_RET | BPF_K, unknown, 0, 0);
        struct sock_fprog all = {lines, program};
        long flags = heard ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
        long done = CALL(seccomp, SECCOMP_SET_MODE_FILTER, flags, &all, 0, 0);
        is_filtered = done >= 0;
        if (done >= 0 && heard)
            listener = done;
        if (done >= 0 || !heard || (done != -EBUSY && done != -EINVAL))
            return MACHINE ? done : -ENOSYS;
    }
    return -EINVAL;
}

/* A child of the program's parent, which does not wait for it, would keep the kernel from ending the program's process
   namespace. The guard itself makes such children, so only the program has this second filter. */
static long forbid_siblings(void)
{
    lines = 0;
    load(offsetof(struct seccomp_data, nr));
    filter(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3);
    load(offsetof(struct seccomp_data, args));
    filter(BPF_JMP | BPF_JSET | BPF_K, CLONE_PARENT, 0, 1);
    filter(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
    filter(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog all = {lines, program};
    return CALL(seccomp, SECCOMP_SET_MODE_FILTER, 0, &all, 0, 0);
}

#endif
