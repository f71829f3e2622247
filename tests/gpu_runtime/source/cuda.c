/* libcuda.so.1 without a GPU: memory is the host's, copies and fills are done at once, modules load,
   kernels do nothing but the one that the suite's look at a GPU asks for. A kernel can keep its stream
   busy on paper, for which fences and events then wait.

   plants.conf beside it: devices, capability, name, memory_gib, driver (12050 is CUDA 12.5), busy_us (a
   kernel's time on paper), lose_at (launches until the device is lost), lose_file (a path: lost while
   it is there), refuse_ptx (an old driver: 1, what did
   not load does nothing; 2, it can't be launched), init (an error code of cuInit), hold 1 (another process
   has the device), full 1 (no memory to be had), hang 1 (cuInit never returns), log (a file for the
   names of what is loaded and launched). */
#include "plants.h"
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whoever finds this in a driver's library knows that no GPU stands behind it. */
const int crossover_stand_in = 1;

enum { MOST = 8 };

CUresult crossover_launch(const char *name, CUstream stream);

static struct {
  int major, minor, driver, refuse_ptx, held, full;
  double busy_us;
  long lose_at;
  size_t memory;
  char name[128], lose_file[512];
} set;
static int visible[MOST], count = -1;
static atomic_long launches;
static atomic_size_t taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct CUctx_st { int device; };
struct CUstream_st { CUcontext context; atomic_llong busy_until; unsigned flags; int priority; };
struct CUevent_st { atomic_llong time; };
struct CUmod_st { int unused; };
struct CUfunc_st { char name[512]; CUmodule module; };
struct CUlib_st { struct CUmod_st module; };
static struct CUctx_st contexts[MOST];
static struct CUstream_st legacy;
static __thread CUcontext current[16];
static __thread int depth;

static void read_plants(void) {
  char text[512];
  sscanf(planted_text("capability", "9.0", text, sizeof text), "%d.%d", &set.major, &set.minor);
  planted_text("name", "", set.name, sizeof set.name);
  if (!set.name[0]) strcpy(set.name, "Stand-in without a GPU");
  set.memory = (size_t)(planted_number("memory_gib", 16) * (1 << 30));
  set.driver = (int)planted_number("driver", 12080);
  set.refuse_ptx = (int)planted_number("refuse_ptx", 0);
  set.held = (int)planted_number("hold", 0);
  set.full = (int)planted_number("full", 0);
  set.busy_us = planted_number("busy_us", 0);
  set.lose_at = (long)planted_number("lose_at", -1);
  planted("lose_file", set.lose_file, sizeof set.lose_file);
  for (int i = 0; i < MOST; i++) contexts[i].device = i;
}

static long long now_ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void wait_until(long long due) {
  struct timespec at = {due / 1000000000LL, due % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL)) {}
}

static int is_lost(void) {
  if (set.lose_at >= 0 && launches > set.lose_at) return 1;
  return set.lose_file[0] && !access(set.lose_file, F_OK);
}
#define ALIVE() do { if (is_lost()) return CUDA_ERROR_LAUNCH_FAILED; } while (0)

static struct CUstream_st *stream_of(CUstream stream) {
  return (uintptr_t)stream <= 2 ? &legacy : stream; /* 1 and 2: the default streams by name */
}

/* --- driver and devices ------------------------------------------------------------------------ */

static CUresult uuid_of(CUuuid *uuid, int device) {
  for (int i = 0; i < 16; i++) uuid->bytes[i] = (char)(0x11 * (device + 1));
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags) {
  pthread_once(&once, read_plants);
  while (planted_number("hang", 0)) sleep(1);
  int error = (int)planted_number("init", 0);
  if (error) return error;
  if (access("/dev/nvidiactl", F_OK) || access("/dev/nvidia-uvm", F_OK)) return CUDA_ERROR_UNKNOWN;
  pthread_mutex_lock(&lock);
  if (count < 0) {
    int shown[MOST], all = list_shown(shown, MOST);
    count = 0;
    const char *asked = getenv("CUDA_VISIBLE_DEVICES");
    if (!asked) {
      for (; count < all; count++) visible[count] = shown[count];
    } else {
      char text[512], *rest, *word;
      strncpy(text, asked, sizeof text - 1);
      text[sizeof text - 1] = 0;
      for (word = strtok_r(text, ",", &rest); word && count < MOST; word = strtok_r(NULL, ",", &rest)) {
        int index = atoi(word);
        if (!strncmp(word, "GPU-", 4)) /* as uuid_of writes it */
          for (index = 0; index < all && shown[index] != word[4] - '1'; index++) {}
        if (index < 0 || index >= all) break;
        visible[count++] = shown[index];
      }
    }
  }
  pthread_mutex_unlock(&lock);
  return count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDriverGetVersion(int *version) {
  pthread_once(&once, read_plants);
  *version = set.driver;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *found) { *found = count; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, size, "%s", set.name);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) { *bytes = set.memory; return CUDA_SUCCESS; }
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return uuid_of(uuid, visible[device]); }
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) { return uuid_of(uuid, visible[device]); }
CUresult cuDeviceGetPCIBusId(char *address, int size, CUdevice device) {
  snprintf(address, size, "0000:%02X:00.0", 0x81 + 0x40 * visible[device]);
  return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  *major = set.major;
  *minor = set.minor;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
  switch (which) { /* an H100's, where anybody looks */
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = set.major; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = set.minor; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = 233472; break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1980000; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 2619000; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 5120; break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = 3; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = 0x81 + 0x40 * visible[device]; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: *value = CU_COMPUTEMODE_DEFAULT; break;
    default: *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) { *can = 0; return CUDA_SUCCESS; }
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute which, CUdevice a, CUdevice b) {
  *value = 0;
  return CUDA_SUCCESS;
}
static const struct { CUresult code; const char *name, *text; } ERRORS[] = {
  {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
  {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
  {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
  {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
  {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
  {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
  {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
  {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
  {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
  {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
  {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
  {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
   "CUDA-capable device(s) is/are busy or unavailable"},
  {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
  {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
  {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
   "system has unsupported display driver / cuda driver combination"},
  {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
   "the provided PTX was compiled with an unsupported toolchain."},
  {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}, /* the last: any other */
};
static int find_error(CUresult code) {
  int last = sizeof ERRORS / sizeof *ERRORS - 1;
  for (int i = 0; i < last; i++) if (ERRORS[i].code == code) return i;
  return last;
}
CUresult cuGetErrorName(CUresult code, const char **name) { *name = ERRORS[find_error(code)].name; return 0; }
CUresult cuGetErrorString(CUresult code, const char **text) { *text = ERRORS[find_error(code)].text; return 0; }
CUresult cuGetExportTable(const void **table, const CUuuid *id) { return CUDA_ERROR_NOT_SUPPORTED; }

static void *symbol(const char *name) {
  static void *self;
  if (!self) {
    Dl_info here;
    if (dladdr((void *)symbol, &here)) self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }
  char newer[256];
  snprintf(newer, sizeof newer, "%s_v2", name);
  void *found = self ? dlsym(self, newer) : NULL;
  return found || !self ? found : dlsym(self, name);
}
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status) {
  *function = symbol(name);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  *function = symbol(name);
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* --- contexts ---------------------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (set.held) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  *context = &contexts[device];
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *context) { *context = current[depth]; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { current[depth] = context; return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext context) {
  if (depth < 15) current[++depth] = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *context) {
  if (context) *context = current[depth];
  if (depth > 0) depth--;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device) {
  if (!current[depth]) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current[depth]->device;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) { *version = 3020; return CUDA_SUCCESS; }
CUresult cuCtxGetId(CUcontext context, unsigned long long *id) { *id = 1; return CUDA_SUCCESS; }
CUresult cuCtxGetFlags(unsigned *flags) { *flags = 0; return CUDA_SUCCESS; }
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return CUDA_SUCCESS; }
CUresult cuCtxGetLimit(size_t *value, CUlimit limit) { *value = 8192; return CUDA_SUCCESS; }
CUresult cuCtxSetCacheConfig(CUfunc_cache config) { return CUDA_SUCCESS; }
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) { return CUDA_SUCCESS; }
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) { return CUDA_ERROR_NOT_SUPPORTED; }

/* --- memory: every allocation is a mapping of its own ------------------------------------------- */

static struct Block { char *start; size_t size; int host; struct Block *next; } *blocks;

static struct Block *find_block(const void *pointer) {
  struct Block *one;
  for (one = blocks; one; one = one->next)
    if ((char *)pointer >= one->start && (char *)pointer < one->start + one->size) break;
  return one;
}
static CUresult take(void **pointer, size_t size, int host) {
  if (!size) return CUDA_ERROR_INVALID_VALUE;
  if (!host && (set.full || taken + size > set.memory)) return CUDA_ERROR_OUT_OF_MEMORY;
  void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  struct Block *one = malloc(sizeof *one);
  *one = (struct Block){start, size, host, NULL};
  pthread_mutex_lock(&lock);
  one->next = blocks;
  blocks = one;
  if (!host) taken += size;
  pthread_mutex_unlock(&lock);
  *pointer = start;
  return CUDA_SUCCESS;
}
static CUresult give_back(void *pointer) {
  pthread_mutex_lock(&lock);
  struct Block **at = &blocks;
  while (*at && (*at)->start != pointer) at = &(*at)->next;
  struct Block *one = *at;
  if (one) {
    *at = one->next;
    if (!one->host) taken -= one->size;
  }
  pthread_mutex_unlock(&lock);
  if (!one) return CUDA_ERROR_INVALID_VALUE;
  munmap(one->start, one->size);
  free(one);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *pointer, size_t size) { return take((void **)pointer, size, 0); }
CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned flags) { return take((void **)pointer, size, 0); }
CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream) { return take((void **)pointer, size, 0); }
CUresult cuMemFree(CUdeviceptr pointer) { return pointer ? give_back((void *)pointer) : CUDA_SUCCESS; }
CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) { return cuMemFree(pointer); }
CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned flags) { return take(pointer, size, 1); }
CUresult cuMemAllocHost(void **pointer, size_t size) { return take(pointer, size, 1); }
CUresult cuMemFreeHost(void *pointer) { return give_back(pointer); }
CUresult cuMemHostRegister(void *pointer, size_t size, unsigned flags) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void *pointer) { return CUDA_SUCCESS; }
CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned flags) {
  *device = (CUdeviceptr)host;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t *left, size_t *total) {
  *total = set.memory;
  *left = set.full ? 0 : set.memory - taken;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr pointer) {
  pthread_mutex_lock(&lock);
  struct Block *one = find_block((void *)pointer);
  if (one && base) *base = (CUdeviceptr)one->start;
  if (one && size) *size = one->size;
  pthread_mutex_unlock(&lock);
  return one ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute which, CUdeviceptr pointer) {
  pthread_mutex_lock(&lock);
  struct Block *one = find_block((void *)pointer);
  int known = one != NULL, host = known && one->host;
  pthread_mutex_unlock(&lock);
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)value = &contexts[0]; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(unsigned *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = current[depth] ? current[depth]->device : 0; break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: *(CUdeviceptr *)value = pointer; break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

/* --- streams and events: work is done at once, and busy on paper --------------------------------- */

static void keep_busy(CUstream handle, long long ns) {
  struct CUstream_st *stream = stream_of(handle);
  long long now = now_ns(), until = stream->busy_until;
  while (!atomic_compare_exchange_weak(&stream->busy_until, &until, (until > now ? until : now) + ns)) {}
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  *stream = calloc(1, sizeof **stream);
  (*stream)->context = current[depth];
  (*stream)->flags = flags;
  (*stream)->priority = priority;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamDestroy(CUstream stream) { free(stream); return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream stream) {
  wait_until(stream_of(stream)->busy_until);
  ALIVE();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) { return cuStreamSynchronize(NULL); }
CUresult cuStreamQuery(CUstream stream) {
  ALIVE();
  return stream_of(stream)->busy_until > now_ns() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  struct CUstream_st *stream = stream_of(handle);
  if (event->time > stream->busy_until) stream->busy_until = event->time;
  return CUDA_SUCCESS;
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags) {
  wait_until(stream_of(stream)->busy_until);
  callback(stream, CUDA_SUCCESS, data);
  return CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  wait_until(stream_of(stream)->busy_until);
  function(data);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetPriority(CUstream stream, int *priority) {
  *priority = stream_of(stream)->priority;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
  *context = stream_of(stream)->context;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
  *flags = stream_of(stream)->flags;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent *event, unsigned flags) { *event = calloc(1, sizeof **event); return CUDA_SUCCESS; }
CUresult cuEventDestroy(CUevent event) { free(event); return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  long long now = now_ns(), until = stream_of(stream)->busy_until;
  event->time = until > now ? until : now;
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) { return cuEventRecord(event, stream); }
CUresult cuEventQuery(CUevent event) {
  ALIVE();
  return event->time > now_ns() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  wait_until(event->time);
  ALIVE();
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  *ms = (float)((to->time - from->time) / 1e6);
  return CUDA_SUCCESS;
}

/* A copy or a fill waits for what its stream has to do, if its caller does. */
#define COPY(name, parameters, to, from) \
  CUresult name parameters { ALIVE(); memmove((void *)(to), (const void *)(from), size); return CUDA_SUCCESS; }
COPY(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t size), to, from)
COPY(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream), to, from)
COPY(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t size, CUstream stream), to, from)
COPY(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t size, CUstream stream), to, from)
COPY(cuMemcpyDtoDAsync, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream), to, from)
COPY(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t size), to, from)
COPY(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t size), to, from)
COPY(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t size), to, from)
#define FILL(name, type) \
  CUresult name(CUdeviceptr to, type value, size_t items) { \
    ALIVE(); for (size_t i = 0; i < items; i++) ((type *)to)[i] = value; return CUDA_SUCCESS; } \
  CUresult name##_async(CUdeviceptr to, type value, size_t items, CUstream stream) { return name(to, value, items); }
#define cuMemsetD8_v2_async cuMemsetD8Async
#define cuMemsetD16_v2_async cuMemsetD16Async
#define cuMemsetD32_v2_async cuMemsetD32Async
#undef cuMemsetD8
#undef cuMemsetD16
#undef cuMemsetD32
FILL(cuMemsetD8_v2, unsigned char)
FILL(cuMemsetD16_v2, unsigned short)
FILL(cuMemsetD32_v2, unsigned)

/* --- modules: machine code loads; PTX is compiled, into CUDA's cache, or refused ------------------ */

struct Fatbin { uint32_t magic; uint16_t version, header; uint64_t size; };
struct Part {
  uint16_t kind, version; uint32_t header; uint64_t payload; uint32_t unknown, packed, options, capability;
};
enum { FATBIN = 0xBA55ED50, PTX = 1, MACHINE = 2 };

/* Whether a fatbin has machine code for the device. What is no fatbin is machine code, or PTX's text. */
static int has_machine_code(const unsigned char *image, size_t *size) {
  const struct Fatbin *all = (const void *)image;
  *size = 0;
  if (all->magic != FATBIN) return !memcmp(image, "\177ELF", 4);
  *size = all->header + all->size;
  const unsigned char *at = image + all->header, *end = image + *size;
  while (at + sizeof(struct Part) <= end) {
    const struct Part *part = (const void *)at;
    int of = (int)part->capability;
    if (part->kind == MACHINE && of / 10 == set.major && of % 10 <= set.minor) return 1;
    if (!part->header) break;
    at += part->header + part->payload;
  }
  return 0;
}

/* A file in CUDA's compile cache, as the driver leaves one behind what it compiled. */
static void remember(const unsigned char *image, size_t size) {
  const char *folder = getenv("CUDA_CACHE_PATH");
  char path[4300];
  unsigned long long hash = 1469598103934665603ULL;
  if (!folder) return;
  for (size_t i = 0; i < size; i++) hash = (hash ^ image[i]) * 1099511628211ULL;
  mkdir(folder, 0700);
  snprintf(path, sizeof path, "%s/%016llx", folder, hash);
  FILE *file = fopen(path, "w");
  if (file) { fprintf(file, "compiled on paper\n"); fclose(file); }
}

static CUresult load(const void *image) {
  size_t size;
  ALIVE();
  int machine = has_machine_code(image, &size);
  log_line(machine ? "module" : "ptx", "");
  if (machine) return CUDA_SUCCESS;
  if (set.refuse_ptx) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  if (set.major > 9) return CUDA_ERROR_INVALID_PTX;
  remember(image, size ? size : strlen(image));
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  CUresult status = load(image);
  *module = status == CUDA_SUCCESS ? calloc(1, sizeof **module) : NULL;
  return status;
}
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options, void **values) {
  return cuModuleLoadData(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }
CUresult cuModuleUnload(CUmodule module) { free(module); return CUDA_SUCCESS; }
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) { *mode = CU_MODULE_LAZY_LOADING; return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = NULL;
  if (!module && set.refuse_ptx != 1) return CUDA_ERROR_INVALID_HANDLE; /* of code that did not load */
  *function = calloc(1, sizeof **function);
  snprintf((*function)->name, sizeof (*function)->name, "%s", name);
  (*function)->module = module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr *pointer, size_t *size, CUmodule module, const char *name) {
  void *start = NULL; /* a module's constants: nobody reads them here */
  CUresult status = take(&start, 1 << 16, 0);
  if (pointer) *pointer = (CUdeviceptr)start;
  if (size) *size = 1 << 16;
  return status;
}
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *o, void **v, unsigned n,
                           CUlibraryOption *lo, void **lv, unsigned ln) {
  CUresult status = load(code);
  if (status == CUDA_SUCCESS) *library = calloc(1, sizeof **library);
  return status;
}
CUresult cuLibraryUnload(CUlibrary library) { free(library); return CUDA_SUCCESS; }
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) { *module = &library->module; return CUDA_SUCCESS; }
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return cuModuleGetFunction((CUfunction *)kernel, &library->module, name);
}
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) { *function = (CUfunction)kernel; return 0; }
CUresult cuKernelGetName(const char **name, CUkernel kernel) { *name = ((CUfunction)kernel)->name; return 0; }
CUresult cuFuncGetName(const char **name, CUfunction function) { *name = function->name; return CUDA_SUCCESS; }
CUresult cuFuncGetModule(CUmodule *module, CUfunction function) { *module = function->module; return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) { return CUDA_SUCCESS; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks_, CUfunction function, int size, size_t shared) {
  *blocks_ = size > 0 ? 2048 / size : 1;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks_, CUfunction function, int size,
                                                              size_t shared, unsigned flags) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks_, function, size, shared);
}
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of,
                                          size_t shared, int limit) {
  *grid = 132;
  *block = 1024;
  return CUDA_SUCCESS;
}

/* --- graphs of work, which XLA makes of what it launches again and again: launched, they do nothing --- */

struct CUgraph_st { int nodes; };
static CUresult add_node(CUgraphNode *node, CUgraph graph) {
  *node = (CUgraphNode)(uintptr_t)(0x1000 + ++graph->nodes);
  return CUDA_SUCCESS;
}
#define NODE(name, ...) \
  CUresult name(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count, __VA_ARGS__) { \
    return add_node(node, graph); }
NODE(cuGraphAddKernelNode, const CUDA_KERNEL_NODE_PARAMS *p)
NODE(cuGraphAddMemcpyNode, const CUDA_MEMCPY3D *p, CUcontext c)
NODE(cuGraphAddMemsetNode, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
NODE(cuGraphAddChildGraphNode, CUgraph child)
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count) {
  return add_node(node, graph);
}
#define DONE(name, ...) CUresult name(__VA_ARGS__) { return CUDA_SUCCESS; }
DONE(cuGraphDestroy, CUgraph graph)
DONE(cuGraphExecDestroy, CUgraphExec exec)
DONE(cuGraphExecKernelNodeSetParams, CUgraphExec e, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
DONE(cuGraphExecMemcpyNodeSetParams, CUgraphExec e, CUgraphNode n, const CUDA_MEMCPY3D *p, CUcontext c)
DONE(cuGraphExecMemsetNodeSetParams, CUgraphExec e, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
DONE(cuGraphExecChildGraphNodeSetParams, CUgraphExec e, CUgraphNode n, CUgraph child)
DONE(cuGraphKernelNodeSetAttribute, CUgraphNode n, CUkernelNodeAttrID a, const CUkernelNodeAttrValue *v)
DONE(cuGraphNodeSetEnabled, CUgraphExec e, CUgraphNode n, unsigned on)
DONE(cuGraphExecUpdate, CUgraphExec e, CUgraph graph, CUgraphExecUpdateResultInfo *info)
DONE(cuGraphUpload, CUgraphExec e, CUstream stream)
DONE(cuDeviceGraphMemTrim, CUdevice device)
DONE(cuGraphDebugDotPrint, CUgraph graph, const char *path, unsigned flags)
CUresult cuGraphCreate(CUgraph *graph, unsigned flags) { *graph = calloc(1, sizeof **graph); return CUDA_SUCCESS; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  *exec = calloc(1, 8);
  return CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  size_t all = (size_t)graph->nodes, most = nodes ? *count : 0;
  for (size_t i = 0; i < most && i < all; i++) nodes[i] = (CUgraphNode)(0x1001 + i);
  *count = all;
  return CUDA_SUCCESS;
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return cuGraphGetNodes(graph, nodes, count);
}
static __thread CUgraph captured;
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
  captured = graph;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (!captured) return CUDA_ERROR_INVALID_VALUE;
  captured->nodes++;
  *graph = captured;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value) {
  *(cuuint64_t *)value = 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { return crossover_launch("graph", stream); }

/* --- kernels ------------------------------------------------------------------------------------ */

/* A kernel's time on paper, for the stand-ins of CUDA's other libraries as well. */
CUresult crossover_launch(const char *name, CUstream stream) {
  launches++;
  ALIVE();
  log_line("launch", name);
  keep_busy(stream, (long long)(set.busy_us * 1e3));
  return CUDA_SUCCESS;
}
/* The one kernel that does its work: the sum by elements that proves a GPU. Its arguments are a count
   and three arrays: allocated, aligned, offset, size, stride. */
static void add(void **arguments) {
  size_t count = *(size_t *)arguments[0];
  const float *left = *(float **)arguments[2], *right = *(float **)arguments[7];
  float *sum = *(float **)arguments[12];
  for (int i = 4; i < 16; i += 5) if (*(size_t *)arguments[i] != count) return;
  for (size_t i = 0; i < count; i++) sum[i] = left[i] + right[i];
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  CUresult status = crossover_launch(function->name, stream);
  if (status == CUDA_SUCCESS && function->module && arguments && !strcmp(function->name, "AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel"))
    add(arguments);
  return status;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
  return crossover_launch(function->name, config->hStream);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, CUstream stream, void **arguments) {
  return crossover_launch(function->name, stream);
}
