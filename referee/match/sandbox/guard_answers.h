/* Answers to system calls that a filter alone cannot judge. Only guard.c includes this.

   Whoever wakes a file runs every entry of epoll on it, at once: a timer runs them in an interrupt, on the clock of
   the opponent, and a write to the program's stdin runs them in the referee. The kernel limits entries by a setting of the
   whole machine only. So the process that stays with the program makes these descriptors for it and adds the entries,
   and thereby can count both exactly, whatever the program does with them: fork, pass them on, hide them in a socket. */

#ifndef GUARD_ANSWERS_H
#define GUARD_ANSWERS_H

/* Node.js uses three epolls with eight entries, Go one with five; the runtime of Haskell uses one timer per process. */
enum { MOST_POLLS = 64, MOST_ENTRIES = 64, MOST_TIMERS = 4 };
enum { ADD_ENTRY = 1, WAKES_MACHINE = 1 << 29, F_DUPFD_CLOEXEC_ = 1030, F_GETFL_ = 3, CAP_PTRACE = 19 };
enum { LOCK_NB_ = 4, WALL_CLOCK = 0, MONOTONIC = 1, SINCE_BOOT = 7, RLIMIT_FILES = 7 };

struct seccomp_give { uint64_t id; uint32_t flags, srcfd, newfd, newfd_flags; }; /* missing in old headers */
#define GIVE_DESCRIPTOR SECCOMP_IOW(3, struct seccomp_give)
#define GIVE_AND_ANSWER 2u
#define MAKE_THE_CALL 1u

struct poll_event { uint32_t events; uint64_t data; }
#if defined(__x86_64__)
__attribute__((packed))
#endif
;

static long polls = -1, timers = -1; /* epolls that contain the descriptors that were given out */
static int reads_others;

/* An epoll whose entries are the descriptors that are still open, wherever they are: an entry goes with the last copy.
   It is watched itself: of ways that are so long the kernel allows 100 from one file, so one file has 100 entries at most. */
static long new_watch(void)
{
    struct poll_event none = {0, 0};
    long watch = CALL(epoll_create1, O_CLOEXEC, 0, 0, 0, 0), above = CALL(epoll_create1, O_CLOEXEC, 0, 0, 0, 0);
    CALL(epoll_ctl, above, ADD_ENTRY, watch, &none, 0);
    return watch;
}

/* Copy a descriptor of the caller, so that the caller cannot replace what it refers to. */
static long copy_of(long caller, uint64_t descriptor)
{
    return CALL(pidfd_getfd, caller, (int)descriptor, 0, 0, 0);
}

static void prepare_answers(void)
{
    uint32_t header[2] = {0x20080522, 0}, sets[6] = {0};
    unsigned long most[2];
    polls = new_watch(), timers = new_watch();
    reads_others = CALL(capget, header, sets, 0, 0, 0) >= 0 && sets[0] >> CAP_PTRACE & 1;
    long own = CALL(pidfd_open, CALL(getpid, 0, 0, 0, 0, 0), 0, 0, 0, 0), copy = copy_of(own, (uint64_t)own);
    reads_others = reads_others && copy >= 0; /* the filter of a container or a systemd unit may forbid it */
    CALL(close, own, 0, 0, 0, 0);
    CALL(close, copy, 0, 0, 0, 0);
    if (CALL(prlimit64, 0, RLIMIT_FILES, 0, most, 0) >= 0) { /* entries go by the number of a descriptor: see add_at */
        most[0] = most[1];
        CALL(prlimit64, 0, RLIMIT_FILES, most, 0, 0);
    }
}

/* Return how many entries an epoll has; 0 for other descriptors. */
static long count_entries(long poll)
{
    char path[64], data[1024], *end = add_number(add(path, path + 32, "/proc/self/fdinfo/"), path + 63, poll);
    const char *next = "tfd:";
    long count = 0, size;
    *end = 0;
    long file = CALL(openat, AT_HERE, path, O_CLOEXEC, 0, 0);
    if (file < 0)
        return file;
    while ((size = CALL(read, file, data, sizeof data, 0, 0)) > 0)
        for (long i = 0; i < size; i++) {
            next = data[i] == *next ? next + 1 : data[i] == 't' ? "fd:" : "tfd:";
            if (!*next)
                count++, next = "tfd:";
        }
    CALL(close, file, 0, 0, 0, 0);
    return size < 0 ? size : count;
}

/* Give the caller a descriptor, unless `most` of its kind are open. Return the caller's number for it, or an error. */
static long give(uint64_t call, long made, long watch, long most, long flags, int *answered)
{
    struct poll_event none = {0, 0};
    if (made < 0)
        return made;
    long done = count_entries(watch);
    done = done >= most ? -EMFILE : done;
    done = done < 0 ? done : CALL(epoll_ctl, watch, ADD_ENTRY, made, &none, 0);
    if (done >= 0) {
        struct seccomp_give what = {call, GIVE_AND_ANSWER, (uint32_t)made, 0, (uint32_t)(flags & O_CLOEXEC)};
        done = CALL(ioctl, listener, GIVE_DESCRIPTOR, &what, 0, 0);
        *answered = done >= 0;
        if (done == -EINVAL) { /* before Linux 5.14 the answer needs a separate call */
            what.flags = 0;
            done = CALL(ioctl, listener, GIVE_DESCRIPTOR, &what, 0, 0);
        }
    }
    CALL(close, made, 0, 0, 0, 0);
    return done;
}

static long give_poll(const struct seccomp_notif *asked, int *answered)
{
    long flags = asked->data.nr == __NR_epoll_create1 ? (int)asked->data.args[0] : 0;
    if (asked->data.nr != __NR_epoll_create1 && (int)asked->data.args[0] <= 0)
        return -EINVAL;
    return give(asked->id, CALL(epoll_create1, flags | O_CLOEXEC, 0, 0, 0, 0), polls, MOST_POLLS, flags, answered);
}

static long give_timer(const struct seccomp_notif *asked, int *answered)
{
    long clock = (int)asked->data.args[0], flags = (int)asked->data.args[1];
    if (clock != WALL_CLOCK && clock != MONOTONIC && clock != SINCE_BOOT) /* other clocks can wake the machine */
        return -EINVAL;
    long made = CALL(timerfd_create, clock, flags | O_CLOEXEC, 0, 0, 0);
    return give(asked->id, made, timers, MOST_TIMERS, flags, answered);
}

/* Return the process of a thread: before Linux 6.9 a thread has no pidfd. */
static long process_of(long thread)
{
    char path[64], data[1024], *end = add_number(add(path, path + 32, "/proc/"), path + 48, thread);
    *add(end, path + 63, "/status") = 0;
    long file = CALL(openat, AT_HERE, path, O_CLOEXEC, 0, 0);
    long size = file < 0 ? file : CALL(read, file, data, sizeof data - 1, 0, 0);
    if (file >= 0)
        CALL(close, file, 0, 0, 0, 0);
    if (size < 0)
        return size;
    data[size] = 0;
    for (char *at = data; *at; at++)
        if (at[0] == '\n' && at[1] == 'T' && at[2] == 'g' && at[3] == 'i' && at[4] == 'd' && at[5] == ':' && at[6])
            return number(at + 7);
    return -ENOENT;
}

/* The kernel knows an entry by its file and the number of its descriptor: it must have the caller's number here, too, so
   that the caller can change and remove it. What has this number here is moved away meanwhile. */
static long add_at(long poll, long watched, long descriptor, struct poll_event *event)
{
    long moved = CALL(fcntl, descriptor, F_DUPFD_CLOEXEC_, 0, 0, 0);
    poll = poll == descriptor ? moved : poll;
    long done = watched == descriptor ? 0 : CALL(dup3, watched, descriptor, O_CLOEXEC, 0, 0);
    done = done < 0 ? done : CALL(epoll_ctl, poll, ADD_ENTRY, descriptor, event, 0);
    if (moved >= 0) {
        CALL(dup3, moved, descriptor, O_CLOEXEC, 0, 0);
        CALL(close, moved, 0, 0, 0, 0);
    } else if (watched != descriptor) {
        CALL(close, descriptor, 0, 0, 0, 0);
    }
    return done;
}

static long add_entry(const struct seccomp_notif *asked, long caller)
{
    struct poll_event event;
    uint64_t to[2] = {(uint64_t)&event, sizeof event}, from[2] = {asked->data.args[3], sizeof event};
    long poll = copy_of(caller, asked->data.args[0]), watched = poll < 0 ? poll : copy_of(caller, asked->data.args[2]);
    long done = watched < 0 ? watched : call6(__NR_process_vm_readv, asked->pid, (long)to, 1, (long)from, 1, 0);
    done = done < 0 ? done : count_entries(poll);
    if (done >= MOST_ENTRIES)
        done = -ENOSPC;
    if (done >= 0) {
        event.events &= ~(uint32_t)WAKES_MACHINE;
        done = add_at(poll, watched, (int)asked->data.args[2], &event);
    }
    if (watched >= 0)
        CALL(close, watched, 0, 0, 0, 0);
    if (poll >= 0)
        CALL(close, poll, 0, 0, 0, 0);
    return done;
}

/* An exclusive lock on a file that it can only read would be seen by other bots: it needs a file that is open for
   writing, as on NFS. The lock belongs to the open file, so this process can take it for the caller; it never waits. */
static long lock_file(const struct seccomp_notif *asked, long caller)
{
    long pause[2] = {0, 1000000}, operation = (int)asked->data.args[1];
    long file = copy_of(caller, asked->data.args[0]), mode = file < 0 ? file : CALL(fcntl, file, F_GETFL_, 0, 0, 0);
    long done = mode < 0 ? mode : (mode & 3) == 0 ? -EBADF : CALL(flock, file, operation | LOCK_NB_, 0, 0, 0);
    if (file >= 0)
        CALL(close, file, 0, 0, 0, 0);
    if (done == -EAGAIN && !(operation & LOCK_NB_)) { /* as after a signal, so that the caller tries again */
        CALL(nanosleep, pause, 0, 0, 0, 0);
        return -EINTR;
    }
    return done;
}

/* Look at the caller's descriptors. If this machine does not let us, the kernel executes the call. */
static long answer_for(const struct seccomp_notif *asked, uint32_t *flags)
{
    long process = process_of(asked->pid), caller = process < 0 ? process : CALL(pidfd_open, process, 0, 0, 0, 0);
    long done = caller < 0 ? caller : CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id, 0, 0);
    if (done >= 0)
        done = asked->data.nr == __NR_flock ? lock_file(asked, caller) : add_entry(asked, caller);
    if (caller >= 0)
        CALL(close, caller, 0, 0, 0, 0);
    if (done == -ENOSYS || (done == -EPERM && !reads_others)) {
        *flags = MAKE_THE_CALL;
        return 0;
    }
    return done;
}

/* Kill the process that made a forbidden call, as SIGSYS would. The call is never executed. */
static void end_caller(const struct seccomp_notif *asked, int seen)
{
    if (seen < MOST_CALLS)
        say("call", name_of(asked->data.nr), 0, 0);
    long caller = CALL(pidfd_open, asked->pid, 0, 0, 0, 0);
    if (CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id, 0, 0) < 0)
        ; /* the process has ended, and its ID may be in use again */
    else if (caller >= 0)
        CALL(pidfd_send_signal, caller, seen ? SIGKILL : SIGSYS, 0, 0, 0);
    else /* a thread has no pidfd */
        CALL(kill, asked->pid, seen ? SIGKILL : SIGSYS, 0, 0, 0);
    if (caller >= 0)
        CALL(close, caller, 0, 0, 0, 0);
}

/* Answer one call. Return the number of forbidden calls so far. */
static int answer_call(int seen)
{
    struct seccomp_notif asked;
    struct seccomp_notif_resp answer;
    int answered = 0;
    memset(&asked, 0, sizeof asked);
    memset(&answer, 0, sizeof answer);
    if (CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked, 0, 0) < 0)
        return seen;
    long done;
    switch (asked.data.nr) {
#ifdef __NR_epoll_create
    case __NR_epoll_create:
#endif
    case __NR_epoll_create1:
        done = give_poll(&asked, &answered);
        break;
    case __NR_timerfd_create:
        done = give_timer(&asked, &answered);
        break;
    case __NR_epoll_ctl:
    case __NR_flock:
        done = answer_for(&asked, &answer.flags);
        break;
    default:
        end_caller(&asked, seen++);
        done = -ENOSYS;
    }
    if (answered)
        return seen;
    answer.id = asked.id;
    answer.error = done < 0 ? (int32_t)done : 0;
    answer.val = done < 0 ? 0 : done;
    CALL(ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer, 0, 0);
    return seen;
}

#endif
