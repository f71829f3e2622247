/* Lays itself between a program and the C library: the wall clock jumps, rename fails, and no process or
   thread can be started.

   The file that FAULTS names says how far the wall clock is off, in seconds, how many of the next renames
   fail, and how many of the next processes and threads: "-31536000 0 0".  It is read anew every time, so the
   fault begins when the file is written.  */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS, RENAMES, STARTS, KINDS };

static long look(int kind) {
  const char *name = getenv("FAULTS");
  FILE *file = name ? fopen(name, "r") : NULL;
  long found[KINDS] = {0};
  if (file) {
    for (int i = 0; i < KINDS && fscanf(file, "%ld", &found[i]) == 1; i++) {}
    fclose(file);
  }
  return found[kind];
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, now);
  if (clock == CLOCK_REALTIME && !status) {
    now->tv_sec += look(SECONDS);
  }
  return status;
}

static int fails(int kind) {
  static long failed[KINDS];
  return failed[kind] < look(kind) && ++failed[kind];
}

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "rename");
  if (fails(RENAMES)) { errno = EIO; return -1; }
  return real(from, to);
}

int renameat(int a, const char *from, int b, const char *to) {
  static int (*real)(int, const char *, int, const char *);
  if (!real) real = dlsym(RTLD_NEXT, "renameat");
  if (fails(RENAMES)) { errno = EIO; return -1; }
  return real(a, from, b, to);
}

pid_t fork(void) {
  static pid_t (*real)(void);
  if (!real) real = dlsym(RTLD_NEXT, "fork");
  if (fails(STARTS)) { errno = EAGAIN; return -1; }
  return real();
}

/* Nobody can return from a function that calls vfork, and whoever calls it is content with fork.  */
pid_t vfork(void) { return fork(); }

int pthread_create(pthread_t *thread, const pthread_attr_t *with, void *(*run)(void *), void *of) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
  if (fails(STARTS)) return EAGAIN;
  return real(thread, with, run, of);
}
