/* The guard: starts a bot or an engine, confined or not.

       guard STEP ARGUMENT … STEP ARGUMENT … -- PROGRAM ARGUMENT …

   The steps are executed in order. `steps` at the end of this file lists them, and referee/match/sandbox/start.py
   composes them. The guard reports in lines on descriptor 3: `init PID`, `bot PID`, `failed STEP ARGUMENT ERRNO`, and
   later `call NAME`. A guard without the step `init` becomes the program itself, and reports only a failed step.

   With `init` there are two more processes, both children of our parent: the program, and one that stays with it. The
   latter is the first process of the program's process namespace. It reaps what the program leaves behind, reports its
   forbidden system calls, and answers the calls of guard_answers.h. If our parent dies, it kills all of them and
   removes their cgroups. */

#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>

#include "guard_calls.h"
#include "guard_start.h"

enum { REPORT = 3, MOST_GROUPS = 8, MOST_CALLS = 4, LONGEST = 4096 };
enum { SIGKILL = 9, SIGPIPE = 13, SIGCHLD = 17, SIGSYS = 31 };
enum { EPERM = 1, ENOENT = 2, EINTR = 4, ENOEXEC = 8, EBADF = 9, EAGAIN = 11, EACCES = 13, EBUSY = 16, EEXIST = 17 };
enum { EINVAL = 22, EMFILE = 24, ENOSPC = 28, ENOSYS = 38 };
enum { O_WRONLY = 1, O_CREAT = 0100, O_CLOEXEC = 02000000, O_PATH = 010000000 };
enum { AT_HERE = -100, AT_EMPTY = 0x1000, AT_TREE = 0x8000, AT_REMOVE = 0x200 };
enum { MS_RDONLY_ = 1, MS_NOSUID_ = 2, MS_NODEV_ = 4, MS_NOEXEC_ = 8, MS_REMOUNT_ = 32, MS_BIND_ = 4096 };
enum { MS_REC_ = 16384, MS_PRIVATE_ = 1 << 18, MNT_DETACH_ = 2 };

static char **environment;
static long parent, has_init, has_namespace, tell_in = -1, tell_out = -1, ruleset = -1, listener = -1;

/* -- words and numbers ------------------------------------------------------------------------------------------- */

static long length(const char *text)
{
    long size = 0;
    while (text[size])
        size++;
    return size;
}

static int same(const char *one, const char *other)
{
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

static long number(const char *text)
{
    int minus = *text == '-';
    unsigned long value = 0;
    for (text += minus; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (unsigned long)(*text - '0');
    return minus ? -(long)value : (long)value;
}

static char *add(char *to, const char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text == '\n' ? '?' : *text, text++;
    return to;
}

static char *add_number(char *to, const char *end, long value)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    return add(to, end, at);
}

static void say(const char *word, const char *more, const char *detail, long value)
{
    char line[LONGEST], *end = line + sizeof line - 1, *at = add(line, end, word);
    at = more ? add(add(at, end, " "), end, more) : at;
    at = detail ? add(add(at, end, " "), end, detail) : at;
    at = value ? add_number(add(at, end, " "), end - 1, value) : at;
    *at++ = '\n';
    CALL(write, REPORT, line, at - line, 0, 0);
}

#include "guard_groups.h"

/* -- the process that stays with the program ---------------------------------------------------------------------- */

static const char *name_of(int call)
{
#define NAME(name) if (call == __NR_##name) return #name;
#define NAME_NUMBER(name, number) if (call == number) return #name;
    FORBIDDEN(NAME)
    SOMETIMES_FORBIDDEN(NAME)
    LATE_FORBIDDEN(NAME_NUMBER)
#undef NAME
#undef NAME_NUMBER
    return "of another machine";
}

static void handle(long signal, long handler)
{
    long action[4] = {handler, 0, 0, 0};
    CALL(rt_sigaction, signal, action, 0, 8, 0);
}

#include "guard_answers.h"

static void stay(long guard_itself)
{
    int seen = 0;
    long bot = -1, told[2] = {0, -1}; /* the program, and the listener for its forbidden calls */
    struct pollfd on[4] = {{(int)parent, POLLIN, 0}, {(int)tell_out, POLLIN, 0}, {(int)guard_itself, POLLIN, 0}, {-1, POLLIN, 0}};
    CALL(chdir, "/", 0, 0, 0, 0); /* so that pivot_root changes our root, too */
    handle(SIGCHLD, 1); /* ignored, so that the kernel reaps orphans left to us */
    handle(SIGPIPE, 1);
    prepare_answers();
    for (;;) {
        if (CALL(ppoll, on, 4, 0, 0, 8) < 0)
            continue;
        if (on[0].revents)
            break;
        if (on[1].revents & POLLIN) {
            CALL(read, tell_out, told, sizeof told, 0, 0);
            listener = told[1];
            if (told[0] <= 0)
                break; /* the program could not be started */
            bot = CALL(pidfd_open, told[0], 0, 0, 0, 0);
            for (int i = 0; i < REPORT; i++)
                CALL(close, i, 0, 0, 0, 0);
            on[1].fd = on[2].fd = -1;
            on[3].fd = (int)listener;
        } else if (on[2].revents) {
            break; /* the guard failed at a step */
        }
        if (on[3].revents & POLLIN)
            seen = answer_call(seen);
        else if (on[3].revents)
            on[3].fd = -1;
    }
    long patience[2] = {2, 0}; /* the guard also dies with our parent, but may still be making a cgroup */
    if (on[2].fd >= 0)
        CALL(ppoll, on + 2, 1, patience, 0, 8);
    if (on[1].fd >= 0 && CALL(ppoll, on + 1, 1, (long[2]){0}, 0, 8) > 0 && on[1].revents & POLLIN)
        CALL(read, tell_out, told, sizeof told, 0, 0);
    clear(told[0], bot);
    CALL(exit_group, 0, 0, 0, 0, 0);
}

/* -- steps: each returns a number >= 0, or a negative errno -------------------------------------------------------- */

/* parent PID: kill us when it ends. It may have ended already. */
static long set_parent(char **word)
{
    long done = CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (CALL(getppid, 0, 0, 0, 0, 0) != number(word[0]))
        CALL(exit_group, 1, 0, 0, 0, 0);
    return done;
}

/* cpus N,N,…: set the cores that the program may run on. */
static long set_cpus(char **word)
{
    unsigned long mask[16] = {0};
    for (const char *at = word[0]; *at; at += *at == ',') {
        unsigned long core = (unsigned long)number(at);
        if (core < 1024)
            mask[core / 64] |= 1UL << core % 64;
        while (*at && *at != ',')
            at++;
    }
    return CALL(sched_setaffinity, 0, sizeof mask, mask, 0, 0);
}

/* limit RESOURCE N: set the soft and the hard limit. */
static long set_limit(char **word)
{
    unsigned long limit[2] = {(unsigned long)number(word[1]), (unsigned long)number(word[1])};
    return CALL(prlimit64, 0, number(word[0]), limit, 0, 0);
}

/* init: start the process that stays; see the top of this file. */
static long start_init(char **word)
{
    (void)word;
    int pipe[2];
    long us = CALL(getpid, 0, 0, 0, 0, 0), done = CALL(pipe2, pipe, O_CLOEXEC, 0, 0, 0);
    tell_out = pipe[0], tell_in = pipe[1];
    long itself = done < 0 ? done : CALL(pidfd_open, us, 0, 0, 0, 0);
    parent = itself < 0 ? itself : CALL(pidfd_open, CALL(getppid, 0, 0, 0, 0, 0), 0, 0, 0, 0);
    if (parent < 0)
        return parent;
    done = call6(__NR_clone, CLONE_PARENT | CLONE_FILES | SIGCHLD, 0, 0, 0, 0, 0);
    if (done == 0)
        stay(itself);
    has_init = done > 0;
    if (done > 0)
        say("init", 0, 0, done);
    return done;
}

/* user UID GID: change user and group, and leave all other groups. */
static long set_user(char **word)
{
    long uid = number(word[0]), gid = number(word[1]), done = CALL(setgroups, 0, 0, 0, 0, 0);
    done = done < 0 ? done : CALL(setresgid, gid, gid, gid, 0, 0);
    done = done < 0 ? done : CALL(setresuid, uid, uid, uid, 0, 0);
    CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* the kernel clears it when the user changes */
    return done;
}

/* drop: drop every capability, including those that a user namespace gives. */
static long drop_capabilities(char **word)
{
    uint32_t header[2] = {0x20080522, 0}, none[6] = {0};
    (void)word;
    CALL(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int capability = 0; capability < 64; capability++)
        CALL(prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
    return CALL(capset, header, none, 0, 0, 0);
}

static long keep_privileges(char **word)
{
    (void)word;
    return CALL(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* signal: fail if we can send a signal to our parent, a process of the same user. */
static long try_signal(char **word)
{
    (void)word;
    return CALL(kill, CALL(getppid, 0, 0, 0, 0, 0), 0, 0, 0, 0) == -EPERM ? 0 : -EACCES;
}

/* listener: fail if the previous filter has no listener, because another filter has one already. */
static long try_listener(char **word)
{
    (void)word;
    return listener < 0 ? -EBUSY : 0;
}

#include "guard_root.h"
#include "guard_rules.h"

/* -- the list of steps, and the program ----------------------------------------------------------------------------- */

static const struct { const char *name; int words; long (*run)(char **); } steps[] = {
    {"parent", 1, set_parent}, {"nice", 1, set_nice}, {"cpus", 1, set_cpus}, {"limit", 2, set_limit},
    {"folder", 1, enter_folder}, {"unshare", 1, unshare_namespaces}, {"map", 2, map_user},
    {"group", 1, register_group}, {"init", 0, start_init}, {"make", 0, make_groups}, {"set", 3, set_in_group},
    {"join", 0, join_groups}, {"root", 1, new_root}, {"mkdir", 1, make_folder}, {"bind", 3, bind_path},
    {"link", 2, make_link}, {"tmpfs", 2, mount_tmpfs}, {"proc", 0, mount_proc}, {"seal", 0, seal_root},
    {"user", 2, set_user}, {"drop", 0, drop_capabilities}, {"keep", 0, keep_privileges},
    {"landlock", 1, begin_rules}, {"path", 2, allow_path}, {"obey", 0, obey_rules}, {"signal", 0, try_signal}, {"seccomp", 1, filter_calls},
    {"listener", 0, try_listener},
};

/* Become the program. Like a shell, run a script without `#!` with /bin/sh. */
static void run(char **words)
{
    long done = CALL(close_range, REPORT, ~0U, 1 << 2, 0, 0);
    done = done < 0 || !is_filtered ? done : forbid_siblings();
    if (done >= 0)
        done = CALL(execve, words[0], words, environment, 0, 0);
    if (done == -ENOEXEC) {
        words[-1] = "/bin/sh"; /* in place of "--" */
        done = CALL(execve, words[-1], words - 1, environment, 0, 0);
    }
    long none[2] = {-1, -1};
    if (tell_in >= 0)
        CALL(write, tell_in, none, sizeof none, 0, 0);
    say("failed", "exec", words[0], -done);
    CALL(exit_group, 127, 0, 0, 0, 0);
}

static int guard(int argc, char **argv, char **variables)
{
    char **word = argv + 1, **end = argv + argc;
    environment = variables;
    while (word < end && !same(*word, "--")) {
        size_t step = 0, count = sizeof steps / sizeof *steps;
        while (step < count && !same(*word, steps[step].name))
            step++;
        long done = -EINVAL;
        if (step < count && word + steps[step].words < end)
            done = steps[step].run(word + 1);
        if (done < 0) {
            say("failed", *word, step < count && steps[step].words ? word[1] : 0, -done);
            return 127;
        }
        word += 1 + steps[step].words;
    }
    if (word + 1 >= end) /* without a program the steps are only tried */
        return 0;
    if (!has_init)
        run(word + 1);
    long bot = call6(__NR_clone, CLONE_PARENT | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
    if (bot == 0) {
        CALL(setpgid, 0, 0, 0, 0, 0);
        if (!has_namespace)
            CALL(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        run(word + 1);
    }
    if (bot < 0) {
        say("failed", "clone", 0, -bot);
        return 127;
    }
    long told[2] = {bot, listener};
    CALL(write, tell_in, told, sizeof told, 0, 0);
    say("bot", 0, 0, bot);
    return 0;
}
