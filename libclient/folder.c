/* Finding the runtime folder, and whether to trust it.
 *
 * A folder that the caller names (option, environment) may be anybody's. The well-known places are guessed, so somebody
 * else could have made them to serve wrong answers: there it must be root's or ours, or lie directly in a /run/shmbloom
 * that is root's. In both cases nobody but the owner may write to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

#define RUN_FOLDER "/run/shmbloom"
/* Leaves room for "/control" and more in SHMBLOOM__PATH_BYTES. */
#define FOLDER_MAX (SHMBLOOM__FOLDER_BYTES - 1)

static const char *from_environment(const char *name) {
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool is_instance(const char *text) {
    const size_t size = strlen(text);
    return size >= 1 && size < SHMBLOOM__INSTANCE_BYTES &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == size;
}

/* Absolute, since the path is used again after the process may have changed its folder. One that is yet to come cannot
 * be resolved: then it is below the folder that we are in now. */
static int set_given(struct shmbloom__place *place, const char *folder, struct shmbloom__fault *fault) {
    char *absolute = NULL, here[SHMBLOOM__FOLDER_BYTES] = "";
    if (folder[0] != '\0' && folder[0] != '/') {
        absolute = realpath(folder, NULL);
        if (absolute != NULL)
            folder = absolute;
        else if (errno == EACCES)
            return shmbloom__fail_errno(fault, folder, NULL);
        else if (errno != ENOENT && errno != ENOTDIR)
            return shmbloom__fail(fault, -EINVAL, folder, "no such folder");
        else if (!place->lazy || getcwd(here, sizeof here - 1) == NULL)
            return shmbloom__fail(fault, -ENXIO, folder, NULL);
        else
            here[strlen(here)] = '/';
    }
    const int n = snprintf(place->given, sizeof place->given, "%s%s", here, folder);
    int r = 0;
    if (n < 1 || (size_t)n > FOLDER_MAX)
        r = shmbloom__fail(fault, -EINVAL, "runtime_dir", "must have 1 to 255 characters");
    free(absolute);
    return r;
}

int shmbloom__set_place(struct shmbloom__place *place, const shmbloom_options *options, struct shmbloom__fault *fault) {
    const char *instance = options->instance;
    if (instance == NULL)
        instance = from_environment("SHMBLOOM_INSTANCE");
    if (instance == NULL)
        instance = "default";
    if (!is_instance(instance))
        return shmbloom__fail(fault, -EINVAL, "instance", "must be 1 to 32 of A-Z a-z 0-9 _ -");
    (void)!snprintf(place->instance, sizeof place->instance, "%s", instance);

    const char *folder = options->runtime_dir;
    if (folder == NULL)
        folder = from_environment("SHMBLOOM_RUNTIME_DIR");
    place->given[0] = '\0';
    place->lazy = (options->flags & SHMBLOOM_OPEN_LAZY) != 0;
    return folder == NULL ? 0 : set_given(place, folder, fault);
}

static bool only_owner_writes(const struct stat *status) {
    return (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool is_mine(const struct stat *status) {
    return status->st_uid == 0 || status->st_uid == geteuid();
}

/* The parent decides whether somebody else could have put the folder there. */
static int check_parent(const char *folder, bool *run_folder, struct shmbloom__fault *fault) {
    char parent[SHMBLOOM__FOLDER_BYTES];
    struct stat status;
    (void)!snprintf(parent, sizeof parent, "%s", folder);
    *strrchr(parent, '/') = '\0';
    if (lstat(parent, &status) < 0)
        return shmbloom__fail_errno(fault, parent, NULL);
    if (!S_ISDIR(status.st_mode))
        return shmbloom__fail(fault, -EPERM, parent, "it is not a folder");
    if (!is_mine(&status))
        return shmbloom__fail(fault, -EPERM, parent, "it belongs neither to root nor to this user");
    if (!only_owner_writes(&status))
        return shmbloom__fail(fault, -EPERM, parent, "others than its owner may write to it");
    *run_folder = status.st_uid == 0 && strcmp(parent, RUN_FOLDER) == 0;
    return 0;
}

int shmbloom__open_folder(const char *folder, enum shmbloom__trust trust, struct stat *status,
                          struct shmbloom__fault *fault) {
    bool anybodys = trust == SHMBLOOM__GIVEN;
    if (trust == SHMBLOOM__FOUND) {
        const int r = check_parent(folder, &anybodys, fault);
        if (r < 0)
            return r;
    }
    /* A symbolic link in a guessed place is as good as a folder of its maker's choice. */
    const int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC | (trust == SHMBLOOM__FOUND ? O_NOFOLLOW : 0));
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? shmbloom__fail(fault, -EPERM, folder, "it is not a folder")
                                                  : shmbloom__fail_errno(fault, folder, NULL);
    int r = 0;
    if (fstat(fd, status) < 0)
        r = shmbloom__fail_errno(fault, folder, NULL);
    else if (!only_owner_writes(status))
        r = shmbloom__fail(fault, -EPERM, folder, "others than its owner may write to it");
    else if (!anybodys && !is_mine(status))
        r = shmbloom__fail(fault, -EPERM, folder, "it belongs neither to root nor to this user");
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

/* Writes the n-th well-known place. 1, 0: not on this machine, -1: no more. Who comes before the daemon must not end at
 * a user's daemon because the machine's is not there yet: for a lazy open there is one place only. */
static int well_known(const struct shmbloom__place *place, int n, char *folder) {
    int length = 0;
    const char *runtime;
    if (place->lazy && n > 0)
        return -1;
    switch (n) {
    case 0:
        length = snprintf(folder, SHMBLOOM__FOLDER_BYTES, RUN_FOLDER "/%s", place->instance);
        break;
    case 1:
        runtime = from_environment("XDG_RUNTIME_DIR");
        if (runtime == NULL || runtime[0] != '/')
            return 0;
        length = snprintf(folder, SHMBLOOM__FOLDER_BYTES, "%s/shmbloom/%s", runtime, place->instance);
        break;
    case 2:
        length =
            snprintf(folder, SHMBLOOM__FOLDER_BYTES, "/tmp/shmbloom-%lu/%s", (unsigned long)geteuid(), place->instance);
        break;
    default:
        return -1;
    }
    return length > 0 && (size_t)length <= FOLDER_MAX;
}

static void add_tried(char *tried, size_t size, const char *folder) {
    const size_t used = strlen(tried);
    (void)!snprintf(tried + used, size - used, "%s%s", used > 0 ? ", " : "", folder);
}

/* The first place with a control of this boot. Where one may be that cannot be read the search ends: going on could end
 * at another daemon, whose "absent" would be wrong. An untrusted place is passed by, since anybody can make one. */
static int search(const struct shmbloom__place *place, struct shmbloom__control **ret, struct shmbloom__fault *fault) {
    char folder[SHMBLOOM__FOLDER_BYTES], tried[sizeof fault->where] = "";
    struct shmbloom__fault untrusted = {.error = 0};
    for (int n = 0, found; (found = well_known(place, n, folder)) >= 0; n++) {
        if (!found)
            continue;
        const int r = shmbloom__open_control(folder, SHMBLOOM__FOUND, ret, fault);
        if (r != -ENXIO && r != -EPERM)
            return r;
        if (r == -EPERM && untrusted.error == 0)
            untrusted = *fault;
        add_tried(tried, sizeof tried, folder);
    }
    if (untrusted.error != 0) {
        *fault = untrusted;
        return untrusted.error;
    }
    return shmbloom__fail(fault, -ENXIO, tried, NULL);
}

int shmbloom__find_control(const struct shmbloom__place *place, struct shmbloom__control **ret,
                           struct shmbloom__fault *fault) {
    if (place->given[0] == '\0')
        return search(place, ret, fault);
    return shmbloom__open_control(place->given, SHMBLOOM__GIVEN, ret, fault);
}
