/*
 * Preloaded into a process, it adds an offset to the wall clock and leaves the monotonic clock alone. The offset is a number
 * of microseconds in a mapped file, so that another process moves the clock at any moment. It asks the kernel itself:
 * looking up the functions that it replaces would allocate memory before the allocator of Redis is ready.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) offset = page;
  close(file);
}

static int moved(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || offset == NULL) return result;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return result;
  int64_t nanoseconds = time->tv_nsec + (*offset % 1000000) * 1000;
  time->tv_sec += *offset / 1000000 + (nanoseconds < 0 ? -1 : nanoseconds / 1000000000);
  time->tv_nsec = nanoseconds < 0 ? nanoseconds + 1000000000 : nanoseconds % 1000000000;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *time) { return moved(clock, time); }

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  int result = moved(CLOCK_REALTIME, &exact);
  time->tv_sec = exact.tv_sec;
  time->tv_usec = exact.tv_nsec / 1000;
  return result;
}

time_t time(time_t *to) {
  struct timespec exact;
  moved(CLOCK_REALTIME, &exact);
  if (to != NULL) *to = exact.tv_sec;
  return exact.tv_sec;
}
