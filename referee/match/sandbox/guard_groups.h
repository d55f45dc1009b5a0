/* Steps of the guard for the cgroups of a program, and their end. Included by guard.c alone. */

#ifndef GUARD_GROUPS_H
#define GUARD_GROUPS_H

static struct { int parent; const char *name; } groups[MOST_GROUPS];
static int group_count;

static long write_file(long folder, const char *path, const char *text)
{
    long file = CALL(openat, folder, path, O_WRONLY | O_CLOEXEC, 0, 0);
    if (file < 0)
        return file;
    long done = CALL(write, file, text, length(text), 0, 0);
    CALL(close, file, 0, 0, 0, 0);
    return done;
}

/* group PATH: register a cgroup that `make` will create; its parent exists. */
static long register_group(char **word)
{
    char *last = word[0];
    for (char *at = word[0]; *at; at++)
        if (*at == '/')
            last = at;
    if (group_count == MOST_GROUPS || last == word[0])
        return -EINVAL;
    *last = 0;
    long folder = CALL(openat, AT_HERE, word[0], O_PATH | O_CLOEXEC, 0, 0);
    *last = '/';
    groups[group_count].name = last + 1;
    groups[group_count].parent = (int)folder;
    group_count += folder >= 0;
    return folder;
}

/* make: create the registered cgroups. */
static long make_groups(char **word)
{
    (void)word;
    for (int i = 0; i < group_count; i++) {
        long done = CALL(mkdirat, groups[i].parent, groups[i].name, 0755, 0, 0);
        if (done < 0 && done != -EEXIST)
            return done;
    }
    return 0;
}

static long in_group(int group, const char *file, const char *text)
{
    long folder = CALL(openat, groups[group].parent, groups[group].name, O_PATH | O_CLOEXEC, 0, 0);
    long done = folder < 0 ? folder : write_file(folder, file, text);
    if (folder >= 0)
        CALL(close, folder, 0, 0, 0, 0);
    return done;
}

/* set GROUP FILE VALUE: write to a file of a cgroup. */
static long set_in_group(char **word)
{
    return in_group((int)number(word[0]), word[1], word[2]);
}

static long join_groups(char **word)
{
    long done = 0;
    (void)word;
    for (int i = 0; i < group_count && done >= 0; i++) {
        done = in_group(i, "tasks", "0"); /* version 1 only, without the lock that cgroup.procs waits for */
        done = done == -ENOENT ? in_group(i, "cgroup.procs", "0") : done;
    }
    return done;
}

/* Kill and remove what our parent can no longer clean up because it died. */
static void clear(long program, long descriptor)
{
    long pause[2] = {0, 1000000};
    if (CALL(getpid, 0, 0, 0, 0, 0) == 1)
        CALL(kill, -1, SIGKILL, 0, 0, 0);
    else if (program > 0)
        CALL(kill, -program, SIGKILL, 0, 0, 0);
    if (descriptor >= 0) /* the program may have left its group */
        CALL(pidfd_send_signal, descriptor, SIGKILL, 0, 0, 0);
    for (int i = 0; i < group_count; i++) {
        in_group(i, "freezer.state", "THAWED"); /* in version 1 a suspended process does not die */
        in_group(i, "cgroup.kill", "1");
    }
    for (int i = 0; i < group_count; i++)
        for (int tries = 0; tries < 2000; tries++) {
            if (CALL(unlinkat, groups[i].parent, groups[i].name, AT_REMOVE, 0, 0) != -EBUSY)
                break;
            CALL(nanosleep, pause, 0, 0, 0, 0);
        }
}

#endif
