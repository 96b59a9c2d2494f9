/* Counts the calls that change files below a folder, and stops the program at one of them.
 *
 * Preloaded into a program. CRASH_UNDER: the folder. CRASH_AT: the number of a call, from 1. CRASH_HOW: kill (the
 * default), pause (for half a second), ENOSPC or EIO: the call fails, and so does every later write, as on a full disk.
 * CRASH_LOG: a file that gets a line per call. Nothing happens in programs without CRASH_UNDER.
 *
 * With CRASH_READS, reads are counted instead: the read CRASH_AT fails with EIO, and so does every later read of that
 * file, as on a disk with a bad block. With CRASH_CLOCK, the clock of the day jumps ten years forth or back at each look.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long count = 0;

static int below(const char *path) {
    const char *under = getenv("CRASH_UNDER");
    return under && path && strncmp(path, under, strlen(under)) == 0;
}

static void note(const char *call, const char *path) {
    const char *log = getenv("CRASH_LOG");
    if (!log) return;
    FILE *file = fopen(log, "a");
    if (!file) return;
    fprintf(file, "%ld %s %s\n", count, call, path + strlen(getenv("CRASH_UNDER")));
    fclose(file);
}

/* Returns 0 if the call may go on; else it fails, and errno is set. */
static int point(const char *call, const char *path, int needs_room) {
    if (getenv("CRASH_READS") || !below(path)) return 0;
    count = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    note(call, path);
    const char *at = getenv("CRASH_AT"), *how = getenv("CRASH_HOW");
    if (!at) return 0;
    long wanted = atol(at);
    if (!how || strcmp(how, "kill") == 0) {
        if (count == wanted) raise(SIGKILL);
        return 0;
    }
    if (strcmp(how, "pause") == 0) {
        if (count == wanted) usleep(500000);
        return 0;
    }
    if (count < wanted || !needs_room) return 0;
    errno = strcmp(how, "EIO") == 0 ? EIO : ENOSPC;
    return -1;
}

static const char *path_of(int descriptor, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, buffer, size - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

static int descriptor_point(const char *call, int descriptor, int needs_room) {
    char buffer[4096];
    if (descriptor < 3) return 0;
    return point(call, path_of(descriptor, buffer, sizeof buffer), needs_room);
}

static char bad[4096];

static int read_point(const char *call, int descriptor) {
    char path[4096];
    if (descriptor < 3 || !getenv("CRASH_READS") || !below(path_of(descriptor, path, sizeof path))) return 0;
    count = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    note(call, path);
    const char *at = getenv("CRASH_AT");
    if (at && count == atol(at)) strcpy(bad, path);
    if (!*bad || strcmp(path, bad)) return 0;
    errno = EIO;
    return -1;
}

static const char *absolute(const char *path, char *buffer, size_t size) {
    if (!path || path[0] == '/') return path;
    if (!getcwd(buffer, size)) return path;
    size_t length = strlen(buffer);
    snprintf(buffer + length, size - length, "/%s", path);
    return buffer;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(type, name, room, parameters, arguments)                                                                  \
    type name parameters {                                                                                             \
        if (descriptor_point(#name, descriptor, room)) return -1;                                                      \
        return REAL(name) arguments;                                                                                   \
    }
#define WRAP_PATH(name, room, parameters, arguments)                                                                   \
    int name parameters {                                                                                              \
        char buffer[8192];                                                                                             \
        if (point(#name, absolute(path, buffer, sizeof buffer), room)) return -1;                                      \
        return REAL(name) arguments;                                                                                   \
    }

WRAP(ssize_t, write, 1, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size))
WRAP(ssize_t, pwrite, 1, (int descriptor, const void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
WRAP(ssize_t, pwrite64, 1, (int descriptor, const void *bytes, size_t size, off64_t at), (descriptor, bytes, size, at))
WRAP(ssize_t, writev, 1, (int descriptor, const struct iovec *pieces, int n), (descriptor, pieces, n))
WRAP(ssize_t, sendfile, 1, (int descriptor, int from, off_t *at, size_t size), (descriptor, from, at, size))
WRAP(int, fsync, 0, (int descriptor), (descriptor))
WRAP(int, fdatasync, 0, (int descriptor), (descriptor))
WRAP(int, ftruncate, 0, (int descriptor, off_t size), (descriptor, size))
WRAP(int, ftruncate64, 0, (int descriptor, off64_t size), (descriptor, size))
#define WRAP_READ(type, name, parameters, arguments)                                                                   \
    type name parameters {                                                                                             \
        if (read_point(#name, descriptor)) return -1;                                                                  \
        return REAL(name) arguments;                                                                                   \
    }
WRAP_READ(ssize_t, read, (int descriptor, void *bytes, size_t size), (descriptor, bytes, size))
WRAP_READ(ssize_t, pread, (int descriptor, void *bytes, size_t size, off_t at), (descriptor, bytes, size, at))
WRAP_READ(ssize_t, pread64, (int descriptor, void *bytes, size_t size, off64_t at), (descriptor, bytes, size, at))
WRAP_READ(ssize_t, readv, (int descriptor, const struct iovec *pieces, int n), (descriptor, pieces, n))
WRAP_PATH(rename, 0, (const char *path, const char *to), (path, to))
WRAP_PATH(unlink, 0, (const char *path), (path))
WRAP_PATH(rmdir, 0, (const char *path), (path))
WRAP_PATH(mkdir, 1, (const char *path, mode_t mode), (path, mode))
WRAP_PATH(link, 1, (const char *path, const char *to), (path, to))

/* Opening a file changes the folder only if it makes the file. */
#define WRAP_OPEN(name)                                                                                                \
    int name(const char *path, int flags, ...) {                                                                       \
        char buffer[8192];                                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        if (flags & O_CREAT && access(path, F_OK) && point("create", absolute(path, buffer, sizeof buffer), 1))        \
            return -1;                                                                                                 \
        return REAL(name)(path, flags, mode);                                                                          \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

int renameat(int from, const char *path, int into, const char *to) {
    char buffer[8192];
    if (point("renameat", absolute(path, buffer, sizeof buffer), 0)) return -1;
    return REAL(renameat)(from, path, into, to);
}

int unlinkat(int folder, const char *path, int flags) {
    char buffer[4096], whole[8192];
    if (folder == AT_FDCWD || path[0] == '/') {
        if (point("unlinkat", absolute(path, buffer, sizeof buffer), 0)) return -1;
    } else if (path_of(folder, buffer, sizeof buffer)) {
        snprintf(whole, sizeof whole, "%s/%.4000s", buffer, path);
        if (point("unlinkat", whole, 0)) return -1;
    }
    return REAL(unlinkat)(folder, path, flags);
}

static long jump(void) {
    static long looks = 0;
    if (!getenv("CRASH_CLOCK")) return 0;
    return (__atomic_add_fetch(&looks, 1, __ATOMIC_SEQ_CST) % 2 ? 1 : -1) * 10L * 365 * 24 * 3600;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = REAL(clock_gettime)(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = REAL(gettimeofday)(now, zone);
    if (result == 0) now->tv_sec += jump();
    return result;
}

time_t time(time_t *place) {
    time_t now = REAL(time)(NULL) + jump();
    if (place) *place = now;
    return now;
}
