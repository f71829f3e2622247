/* libnvidia-ml.so.1 without a GPU: the devices of the same plants.conf, at rest for ever.

   The structures are as NVIDIA's Python binding has them. plants.conf: devices, name, capability,
   memory_gib, driver_version, mig 1 (cut into instances, and none made), processes (pids that compute on
   the first device, with commas), mismatch 1 (the library is not the loaded module's); the counters of HEALTH,
   of which none is supported that is not planted, each with NAME_later for what it is from worse_s seconds
   after the library was loaded on (by default 2); xids (numbers, with commas), which come then. */
#include "plants.h"
#include <stdint.h>
#include <time.h>

enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NO_PERMISSION, FOUND = 6, SMALL = 7, TIMEOUT = 10, MISMATCH = 18 };
typedef struct Device { int index; } *Device;
static struct Device all[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

static int shown[8];
static int count(void) { return list_shown(shown, 8); }
static int put(char *to, unsigned size, const char *text) { snprintf(to, size, "%s", text); return OK; }

int nvmlInit_v2(void) { return planted_number("mismatch", 0) ? MISMATCH : OK; }
int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
  return code == MISMATCH ? "Driver/library version mismatch" : code == NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *to, unsigned size) {
  char text[64];
  return put(to, size, planted_text("driver_version", "570.00.00", text, sizeof text));
}
int nvmlSystemGetNVMLVersion(char *to, unsigned size) { return put(to, size, "12.570.00.00"); }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = (int)planted_number("driver", 12080); return OK; }
int nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }
int nvmlDeviceGetCount_v2(unsigned *found) { *found = count(); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
  if ((int)index >= count()) return INVALID;
  *device = &all[shown[index]];
  return OK;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, Device *device) {
  const char *bus = strchr(address, ':'); /* of "00000000:81:00.0" */
  int index = bus ? ((int)strtol(bus + 1, NULL, 16) - 0x81) / 0x40 : -1;
  for (int i = 0; i < count(); i++)
    if (shown[i] == index) return nvmlDeviceGetHandleByIndex_v2(i, device);
  return FOUND;
}
static void write_uuid(char *text, int index) {
  strcpy(text, "GPU-########-####-####-####-############");
  for (char *at = text; *at; at++)
    if (*at == '#') *at = (char)('1' + index);
}
int nvmlDeviceGetUUID(Device device, char *to, unsigned size) {
  char text[64];
  write_uuid(text, device->index);
  return put(to, size, text);
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device) {
  for (int i = 0; i < count(); i++) {
    char text[64];
    write_uuid(text, shown[i]);
    if (!strcmp(text, uuid)) { *device = &all[shown[i]]; return OK; }
  }
  return FOUND;
}
int nvmlDeviceGetIndex(Device device, unsigned *index) { *index = device->index; return OK; }
int nvmlDeviceGetName(Device device, char *to, unsigned size) {
  char text[128];
  return put(to, size, planted_text("name", "Stand-in without a GPU", text, sizeof text));
}
typedef struct { char old[16]; unsigned domain, bus, device, id, subsystem; char address[32]; } Pci;
int nvmlDeviceGetPciInfo_v3(Device device, Pci *to) {
  memset(to, 0, sizeof *to);
  to->bus = 0x81 + 0x40 * device->index;
  sprintf(to->old, "0000:%02X:00.0", to->bus);
  sprintf(to->address, "00000000:%02X:00.0", to->bus);
  return OK;
}
int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
  char text[64];
  sscanf(planted_text("capability", "9.0", text, sizeof text), "%d.%d", major, minor);
  return OK;
}
typedef struct { unsigned long long total, left, used; } Memory;
int nvmlDeviceGetMemoryInfo(Device device, Memory *to) {
  to->total = (unsigned long long)(planted_number("memory_gib", 16) * (1 << 30));
  to->used = 1 << 20;
  to->left = to->total - to->used;
  return OK;
}
int nvmlDeviceGetClockInfo(Device device, int which, unsigned *mhz) { *mhz = 1980; return OK; }
int nvmlDeviceGetMaxClockInfo(Device device, int which, unsigned *mhz) { *mhz = 1980; return OK; }
int nvmlDeviceGetTemperature(Device device, int which, unsigned *celsius) { *celsius = 40; return OK; }
int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatt) { *milliwatt = 70000; return OK; }
int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *milliwatt) { *milliwatt = 700000; return OK; }
int nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned *milliwatt) { *milliwatt = 700000; return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long *bits) { *bits = 0; return OK; }
int nvmlDeviceGetUtilizationRates(Device device, unsigned *both) { both[0] = both[1] = 0; return OK; }
int nvmlDeviceGetPersistenceMode(Device device, unsigned *on) { *on = 1; return OK; }
int nvmlDeviceGetComputeMode(Device device, unsigned *mode) { *mode = 0; return OK; }
int nvmlDeviceGetMigMode(Device device, unsigned *now, unsigned *later) {
  *now = *later = (unsigned)planted_number("mig", 0);
  return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *most) { *most = 0; return OK; }
int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned *value) { *value = 5; return OK; }
int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned *value) { *value = 5; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned *value) { *value = 16; return OK; }
int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned *value) { *value = 16; return OK; }
typedef struct { unsigned pid; unsigned long long memory; unsigned instance, compute; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *room, Process *to) {
  char text[512], *rest, *word;
  unsigned found = 0, most = *room;
  if (device->index == 0 && planted("processes", text, sizeof text))
    for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest), found++)
      if (found < most) to[found] = (Process){(unsigned)atoi(word), 1 << 28, 0xFFFFFFFF, 0xFFFFFFFF};
  *room = found;
  return found > most ? SMALL : OK;
}

static struct timespec loaded;
__attribute__((constructor)) static void begin(void) { clock_gettime(CLOCK_MONOTONIC, &loaded); }
static int is_later(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec - loaded.tv_sec + (now.tv_nsec - loaded.tv_nsec) / 1e9 >= planted_number("worse_s", 2);
}
static int count_health(const char *name, unsigned long long *to) {
  char text[64], later[64];
  if (!planted(name, text, sizeof text)) return NOT_SUPPORTED;
  snprintf(later, sizeof later, "%s_later", name);
  *to = (unsigned long long)(is_later() ? planted_number(later, atof(text)) : atof(text));
  return OK;
}
static int count_small(const char *name, unsigned *to) {
  unsigned long long count = 0;
  int code = count_health(name, &count);
  *to = (unsigned)count;
  return code;
}
int nvmlDeviceGetTotalEccErrors(Device device, int uncorrected, int ever, unsigned long long *to) {
  static const char *names[2][2] = {{"corrected_errors", "corrected_errors_ever"}, {"memory_errors", "memory_errors_ever"}};
  return count_health(names[uncorrected != 0][ever != 0], to);
}
int nvmlDeviceGetRemappedRows(Device device, unsigned *corrected, unsigned *not, unsigned *pending, unsigned *failed) {
  *corrected = 0;
  if (count_small("remapping_pending", pending)) *pending = 0;
  if (count_small("remapping_failed", failed)) *failed = 0;
  return count_small("rows_remapped", not);
}
int nvmlDeviceGetRetiredPages(Device device, int cause, unsigned *room, unsigned long long *to) {
  unsigned pages = 0, most = *room;
  if (count_small("pages_retired", &pages)) return NOT_SUPPORTED;
  *room = cause ? 0 : pages; /* all for several single errors */
  for (unsigned i = 0; to && i < *room && i < most; i++) to[i] = 4096ull * i;
  return *room > most ? SMALL : OK;
}
int nvmlDeviceGetRetiredPagesPendingStatus(Device device, unsigned *to) { return count_small("retirement_pending", to); }
typedef struct { unsigned version; unsigned long long counts[11]; unsigned is_worn; } Sram;
int nvmlDeviceGetSramEccErrorStatus(Device device, Sram *to) { return count_small("sram_worn", &to->is_worn); }
int nvmlDeviceGetPcieReplayCounter(Device device, unsigned *to) { return count_small("pcie_replays", to); }

static int heard; /* how many messages were taken */
int nvmlEventSetCreate(void **set) { *set = &heard; return OK; }
int nvmlEventSetFree(void *set) { return OK; }
int nvmlDeviceRegisterEvents(Device device, unsigned long long kinds, void *set) { return OK; }
typedef struct { Device device; unsigned long long kind, number; unsigned instance, compute; } Event;
int nvmlEventSetWait_v2(void *set, Event *to, unsigned milliseconds) {
  char text[512], *rest, *word;
  int at = 0;
  if (is_later() && planted("xids", text, sizeof text))
    for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
      if (at++ == heard) {
        heard++;
        *to = (Event){&all[0], 8, (unsigned long long)atoll(word), 0xFFFFFFFF, 0xFFFFFFFF};
        return OK;
      }
  return TIMEOUT;
}
