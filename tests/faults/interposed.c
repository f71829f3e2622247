/* Lays itself between a program and the C library: the wall clock jumps, and rename fails.

   The file that FAULTS names says how far the wall clock is off, in seconds, and how many of the next
   renames fail: "-31536000 0".  It is read anew every time, so the fault begins when the file is written.  */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static void look(long *seconds, long *renames) {
  const char *name = getenv("FAULTS");
  FILE *file = name ? fopen(name, "r") : NULL;
  *seconds = *renames = 0;
  if (file) {
    if (fscanf(file, "%ld %ld", seconds, renames) < 1) *seconds = 0;
    fclose(file);
  }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, now);
  if (clock == CLOCK_REALTIME && !status) {
    long seconds, renames;
    look(&seconds, &renames);
    now->tv_sec += seconds;
  }
  return status;
}

static int fails(void) {
  static long failed;
  long seconds, renames;
  look(&seconds, &renames);
  return failed < renames && ++failed;
}

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "rename");
  if (fails()) { errno = EIO; return -1; }
  return real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
  static int (*real)(int, const char *, int, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "renameat");
  if (fails()) { errno = EIO; return -1; }
  return real(a, from, b, to);
}
