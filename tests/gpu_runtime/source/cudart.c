/* libcudart.so.12 on the stand-in driver, which NVIDIA's own finds no kernels on: kernels are known by
   their registration, and a launch does nothing but two things that make a shape which the host reads. */
#include "plants.h"
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

CUresult crossover_launch(const char *name, CUstream stream);

struct Kernel { const void *host; char *name; struct Kernel *next; };
static struct Kernel *kernels[4096];
static __thread struct { dim3 grid, block; size_t shared; void *stream; } pushed;
static __thread cudaError_t last;

static unsigned slot(const void *pointer) { return (unsigned)(((uintptr_t)pointer >> 4) & 4095); }
static cudaError_t tell(CUresult status) { return last = (cudaError_t)status; } /* the same numbers */

void **__cudaRegisterFatBinary(void *binary) { return calloc(1, sizeof(void *)); }
void __cudaRegisterFatBinaryEnd(void **handle) {}
void __cudaUnregisterFatBinary(void **handle) {}
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
  struct Kernel *one = malloc(sizeof *one);
  *one = (struct Kernel){host, strdup(name), kernels[slot(host)]};
  kernels[slot(host)] = one;
}
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global) {}
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size) {}
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                              int constant, int global) {}
char __cudaInitModule(void **handle) { return 1; }
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
  pushed.grid = grid;
  pushed.block = block;
  pushed.shared = shared;
  pushed.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *(void **)stream = pushed.stream;
  return cudaSuccess;
}
static const char *name_of(const void *host) {
  for (struct Kernel *one = kernels[slot(host)]; one; one = one->next)
    if (one->host == host) return one->name;
  return "unknown";
}
/* TensorFlow's DynamicStitch of int32: the shape that a gradient is summed to, which the host reads. Its
   arguments: a slice's size, all slices' size, from which input each slice comes, the inputs, the output.
   An array of up to eight lies in its structure, behind its length. */
static void stitch(void **arguments) {
  int size = *(int *)arguments[0], all = *(int *)arguments[1], *to = *(int **)arguments[4];
  const int *count = arguments[2], *from = count[0] > 8 ? *(int **)(count + 10) : count + 1;
  char *inputs = arguments[3];
  int **start = *(int *)inputs > 8 ? *(int ***)(inputs + 72) : (int **)(inputs + 8);
  for (int i = 0; i < all; i++)
    if (from[i / size] >= 0) to[i] = start[from[i / size]][i % size];
}
cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
  const char *name = name_of(host);
  if (strstr(name, "DynamicStitchKernelIiE")) stitch(arguments);
  return tell(crossover_launch(name, stream));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **arguments) {
  return tell(crossover_launch(name_of(host), config->stream));
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host) {
  static int module;
  return tell(cuModuleGetFunction(function, (CUmodule)&module, name_of(host)));
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *found, const void *host) {
  memset(found, 0, sizeof *found);
  found->maxThreadsPerBlock = 1024;
  found->numRegs = 32;
  found->ptxVersion = found->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute which, int value) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void *host, enum cudaFuncCache config) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int size,
                                                                   size_t shared, unsigned flags) {
  *blocks = size > 0 ? 2048 / size : 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int size, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, size, shared, 0);
}
cudaError_t cudaGetLastError(void) {
  cudaError_t found = last;
  last = cudaSuccess;
  return found;
}
cudaError_t cudaPeekAtLastError(void) { return last; }
const char *cudaGetErrorName(cudaError_t code) {
  const char *name;
  cuGetErrorName((CUresult)code, &name);
  return name;
}
const char *cudaGetErrorString(cudaError_t code) {
  const char *text;
  cuGetErrorString((CUresult)code, &text);
  return text;
}
cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return tell(cuDriverGetVersion(version)); }
cudaError_t cudaGetDeviceCount(int *count) { return tell(cuDeviceGetCount(count)); }
cudaError_t cudaGetDevice(int *device) {
  if (cuCtxGetDevice(device) != CUDA_SUCCESS) *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  CUcontext context;
  cuDevicePrimaryCtxRetain(&context, device);
  return tell(cuCtxSetCurrent(context));
}
/* The runtime's attributes have the driver's numbers (cuda_runtime_api.h beside cuda.h). */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
  return tell(cuDeviceGetAttribute(value, (CUdevice_attribute)which, device));
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *found, int device) {
  memset(found, 0, sizeof *found);
  cuDeviceGetName(found->name, sizeof found->name, device);
  cuDeviceComputeCapability(&found->major, &found->minor, device);
  cuDeviceTotalMem(&found->totalGlobalMem, device);
  found->multiProcessorCount = 132;
  found->warpSize = 32;
  found->maxThreadsPerBlock = 1024;
  found->maxThreadsPerMultiProcessor = 2048;
  found->sharedMemPerBlock = 49152;
  found->regsPerBlock = 65536;
  for (int i = 0; i < 3; i++) {
    found->maxThreadsDim[i] = 1024;
    found->maxGridSize[i] = 65535;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *address, int size, int device) {
  return tell(cuDeviceGetPCIBusId(address, size, device));
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *most) {
  return tell(cuCtxGetStreamPriorityRange(least, most));
}
cudaError_t cudaDeviceSynchronize(void) { return tell(cuCtxSynchronize()); }
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) { *can = 0; return cudaSuccess; }
cudaError_t cudaMalloc(void **pointer, size_t size) { return tell(cuMemAlloc((CUdeviceptr *)pointer, size)); }
cudaError_t cudaFree(void *pointer) { return tell(cuMemFree((CUdeviceptr)pointer)); }
cudaError_t cudaMallocHost(void **pointer, size_t size) { return tell(cuMemHostAlloc(pointer, size, 0)); }
cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned flags) { return tell(cuMemHostAlloc(pointer, size, 0)); }
cudaError_t cudaFreeHost(void *pointer) { return tell(cuMemFreeHost(pointer)); }
cudaError_t cudaMemGetInfo(size_t *left, size_t *total) { return tell(cuMemGetInfo(left, total)); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  return tell(cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, size));
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return tell(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, size, stream));
}
cudaError_t cudaMemset(void *to, int value, size_t size) {
  return tell(cuMemsetD8((CUdeviceptr)to, (unsigned char)value, size));
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream) {
  return tell(cuMemsetD8Async((CUdeviceptr)to, (unsigned char)value, size, stream));
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *found, const void *pointer) {
  unsigned kind = 0;
  memset(found, 0, sizeof *found);
  if (cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pointer) == CUDA_SUCCESS) {
    found->type = kind == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    found->devicePointer = found->hostPointer = (void *)pointer;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return tell(cuStreamCreate(stream, flags)); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return tell(cuStreamDestroy(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return tell(cuStreamSynchronize(stream)); }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return tell(cuStreamWaitEvent(stream, event, flags));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { return tell(cuEventCreate(event, flags)); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return tell(cuEventRecord(event, stream)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return tell(cuEventSynchronize(event)); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return tell(cuEventDestroy(event)); }
