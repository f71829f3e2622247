/* What a test plants in the stand-ins: `plants.conf` beside the driver's libraries, one "name value" a line. */
#ifndef PLANTS_H
#define PLANTS_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the driver's library; those that lie over the wheels are linked with it, NVML is not and lies beside it. */
extern const int crossover_stand_in __attribute__((weak));

static char plants_folder[4096];

/* Before any thread asks. */
__attribute__((constructor)) static void find_plants(void) {
  Dl_info here;
  if (!dladdr(&crossover_stand_in ? (void *)&crossover_stand_in : (void *)find_plants, &here)) return;
  strncpy(plants_folder, here.dli_fname, sizeof plants_folder - 1);
  char *slash = strrchr(plants_folder, '/');
  if (slash) *slash = 0;
}

/* The value behind a name, or NULL. The file is read anew at each question, so that a test can plant
   something while a process runs; whoever asks often keeps the answer. */
static const char *planted(const char *name, char *value, size_t size) {
  char path[4200], line[512];
  snprintf(path, sizeof path, "%s/plants.conf", plants_folder);
  FILE *file = fopen(path, "r");
  if (!file) return NULL;
  const char *found = NULL;
  while (fgets(line, sizeof line, file)) { /* the last line counts */
    size_t length = strlen(name);
    if (strncmp(line, name, length) || line[length] != ' ') continue;
    line[strcspn(line, "\n")] = 0;
    strncpy(value, line + length + 1, size - 1);
    value[size - 1] = 0;
    found = value;
  }
  fclose(file);
  return found;
}

__attribute__((unused)) static double planted_number(const char *name, double otherwise) {
  char value[64];
  return planted(name, value, sizeof value) ? atof(value) : otherwise;
}

__attribute__((unused)) static const char *planted_text(const char *name, const char *otherwise, char *value, size_t size) {
  return planted(name, value, size) ? value : otherwise;
}

/* Which GPUs are shown: all, or those that NVIDIA's hook was asked for. Fills their numbers, gives their count. */
__attribute__((unused)) static int list_shown(int *shown, int most) {
  char text[256], *rest, *word;
  int count = 0, all = (int)planted_number("devices", 1);
  if (!planted("visible", text, sizeof text))
    for (; count < all && count < most; count++) shown[count] = count;
  else
    for (word = strtok_r(text, ",", &rest); word && count < most; word = strtok_r(NULL, ",", &rest))
      if (atoi(word) < all) shown[count++] = atoi(word);
  return count;
}

__attribute__((unused)) static void log_line(const char *what, const char *name) {
  static char path[512];
  static int asked;
  if (!asked++) planted("log", path, sizeof path);
  FILE *file = path[0] ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %s\n", what, name);
  fclose(file);
}

/* What a function gives that no stand-in is written for: no library's success. */
__attribute__((unused)) static int refuse(const char *name) {
  log_line("refused", name);
  return 15;
}
#endif
