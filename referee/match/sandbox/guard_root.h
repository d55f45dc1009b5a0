/* Steps of the guard for a program's surroundings: niceness, folder, namespaces, a new root. Only guard.c includes this. */

#ifndef GUARD_ROOT_H
#define GUARD_ROOT_H

/* nice N: set the niceness. */
static long set_nice(char **word)
{
    return CALL(setpriority, 0, 0, number(word[0]), 0, 0);
}

static long enter_folder(char **word)
{
    return CALL(chdir, word[0], 0, 0, 0, 0);
}

/* unshare FLAGS: enter new namespaces. */
static long unshare_namespaces(char **word)
{
    has_namespace = number(word[0]) & CLONE_NEWPID;
    return CALL(unshare, number(word[0]), 0, 0, 0, 0);
}

/* map UIDS GIDS: write lines of uid_map and gid_map that need no privileges. */
static long map_user(char **word)
{
    long done = write_file(AT_HERE, "/proc/self/setgroups", "deny");
    done = done < 0 ? done : write_file(AT_HERE, "/proc/self/uid_map", word[0]);
    return done < 0 ? done : write_file(AT_HERE, "/proc/self/gid_map", word[1]);
}

/* root DATA: mount an empty file system at /, and move the old root to /old. */
static long new_root(char **word)
{
    long done = CALL(mount, 0, "/", 0, MS_REC_ | MS_PRIVATE_, 0);
    done = done < 0 ? done : CALL(mount, "tmpfs", "/tmp", "tmpfs", MS_NOSUID_ | MS_NODEV_, word[0]);
    done = done < 0 ? done : CALL(mkdirat, AT_HERE, "/tmp/old", 0755, 0, 0);
    done = done < 0 ? done : CALL(pivot_root, "/tmp", "/tmp/old", 0, 0, 0);
    return done < 0 ? done : CALL(chdir, "/", 0, 0, 0, 0);
}

static long make_folders(char *path)
{
    long done = 0;
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            done = CALL(mkdirat, AT_HERE, path, 0755, 0, 0);
            *at = '/';
        }
    return done == -EEXIST ? 0 : done;
}

static long make_folder(char **word)
{
    make_folders(word[0]);
    long done = CALL(mkdirat, AT_HERE, word[0], 0755, 0, 0);
    return done == -EEXIST ? 0 : done;
}

/* bind HOW SOURCE PATH: show SOURCE of the old root at PATH; HOW is r, w, or d for a device. */
static long bind_path(char **word)
{
    struct mount_attr how;
    struct statx about;
    memset(&how, 0, sizeof how);
    how.attr_set = MOUNT_ATTR_NOSUID | (*word[0] == 'd' ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
    how.attr_set |= *word[0] == 'r' ? MOUNT_ATTR_RDONLY : 0;
    char source[LONGEST], *end = add(add(source, source + LONGEST - 1, "/old"), source + LONGEST - 1, word[1]);
    *end = 0;
    long tree = CALL(open_tree, AT_HERE, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_TREE, 0, 0);
    long done = tree < 0 ? tree : CALL(mount_setattr, tree, "", AT_EMPTY | AT_TREE, &how, sizeof how);
    done = done < 0 ? done : CALL(statx, tree, "", AT_EMPTY, STATX_TYPE, &about);
    if (done < 0)
        return done;
    make_folders(word[2]);
    if ((about.stx_mode & 0170000) == 0040000)
        CALL(mkdirat, AT_HERE, word[2], 0755, 0, 0);
    else if ((done = CALL(openat, AT_HERE, word[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644, 0)) >= 0)
        CALL(close, done, 0, 0, 0, 0);
    done = CALL(move_mount, tree, "", AT_HERE, word[2], MOVE_MOUNT_F_EMPTY_PATH);
    CALL(close, tree, 0, 0, 0, 0);
    return done;
}

/* link TARGET PATH: make a symbolic link. */
static long make_link(char **word)
{
    make_folders(word[1]);
    long done = CALL(symlinkat, word[0], AT_HERE, word[1], 0, 0);
    return done == -EEXIST ? 0 : done;
}

/* tmpfs PATH DATA: mount a tmpfs. */
static long mount_tmpfs(char **word)
{
    make_folder(word);
    return CALL(mount, "tmpfs", word[0], "tmpfs", MS_NOSUID_ | MS_NODEV_, word[1]);
}

/* proc: mount /proc from a child, because only a process inside the new namespace can; we are outside. */
static long mount_proc(char **word)
{
    int status = 0;
    (void)word;
    CALL(mkdirat, AT_HERE, "/proc", 0755, 0, 0);
    long child = call6(__NR_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
    if (child == 0)
        CALL(exit_group, -CALL(mount, "proc", "/proc", "proc", MS_NOSUID_ | MS_NODEV_ | MS_NOEXEC_, 0), 0, 0, 0, 0);
    long done = child < 0 ? child : CALL(wait4, child, &status, 0, 0, 0);
    return done < 0 ? done : -(status >> 8 & 255);
}

/* seal: remove the old root, and make the new one read-only. */
static long seal_root(char **word)
{
    (void)word;
    long done = CALL(umount2, "/old", MNT_DETACH_, 0, 0, 0);
    done = done < 0 ? done : CALL(unlinkat, AT_HERE, "/old", AT_REMOVE, 0, 0);
    return done < 0 ? done
                    : CALL(mount, 0, "/", 0, MS_REMOUNT_ | MS_BIND_ | MS_RDONLY_ | MS_NOSUID_ | MS_NODEV_, 0);
}

#endif
