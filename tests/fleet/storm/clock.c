/* A clock that is wrong by what a file says, for one process and those it starts: preload this, and write a double into the file that
   RECONCILER_TEST_CLOCK names. Only the time of day moves; what measures how long something took does not, as where a machine's clock is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile double *offset;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const char *name = getenv("RECONCILER_TEST_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(double), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) offset = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_gettime) open_clock();
    int code = real_gettime(clock, now);
    if (code == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        double moved = *offset;
        long long nanos = now->tv_nsec + (long long)(moved * 1e9);
        now->tv_sec += nanos / 1000000000, now->tv_nsec = nanos % 1000000000;
        if (now->tv_nsec < 0) now->tv_nsec += 1000000000, now->tv_sec -= 1;
    }
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec, now->tv_usec = precise.tv_nsec / 1000;
    return code;
}

time_t time(time_t *where) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (where) *where = precise.tv_sec;
    return precise.tv_sec;
}
