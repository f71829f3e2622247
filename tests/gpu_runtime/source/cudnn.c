/* libcudnn.so.9 without a GPU: a version. Nothing that the suite measures calls it. */
#include <stddef.h>
size_t cudnnGetVersion(void) { return 91002; }
size_t cudnnGetCudartVersion(void) { return 12090; }
int cudnnGetProperty(int type, int *value) {
  *value = type == 0 ? 9 : type == 1 ? 10 : 2;
  return 0;
}
int cudnnCreate(void **handle) { static int here; *handle = &here; return 0; }
int cudnnDestroy(void *handle) { return 0; }
int cudnnSetStream(void *handle, void *stream) { return 0; }
const char *cudnnGetErrorString(int status) { return status ? "failed" : "success"; }
