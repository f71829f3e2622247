/* libcublas.so.12 without a GPU: small products are made on the host, larger ones are skipped.

   plants.conf: fail_file (a path: the next product fails where it is, and takes it away), wrong_by (a factor
   on every product, such as 1.01). */
#include "product.h"

struct cublasContext { cudaStream_t stream; cublasMath_t math; cublasPointerMode_t mode; };

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  *handle = calloc(1, sizeof **handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { free(handle); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *space, size_t size) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode) {
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode) {
  *mode = handle->mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) { return CUBLAS_STATUS_SUCCESS; }
const char *cublasGetStatusString(cublasStatus_t status) { return status ? "failed" : "success"; }

static cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                               float alpha, const void *a, cudaDataType ka, int lda, long long sa, const void *b,
                               cudaDataType kb, int ldb, long long sb, float beta, void *c, cudaDataType kc, int ldc,
                               long long sc, int batch) {
  struct Product product = {m, n, k, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, alpha, beta, {a, ka, lda, sa},
                            {b, kb, ldb, sb}, {c, kc, ldc, sc}, batch, handle->stream};
  return make(&product) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta,
                              float *c, int ldc) {
  return multiply(handle, ta, tb, m, n, k, *alpha, a, CUDA_R_32F, lda, 0, b, CUDA_R_32F, ldb, 0, *beta, c, CUDA_R_32F,
                  ldc, 0, 1);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType ka, int lda, const void *b, cudaDataType kb,
                            int ldb, const void *beta, void *c, cudaDataType kc, int ldc, cublasComputeType_t type,
                            cublasGemmAlgo_t algorithm) {
  return multiply(handle, ta, tb, m, n, k, scalar(alpha, type), a, ka, lda, 0, b, kb, ldb, 0, scalar(beta, type), c, kc,
                  ldc, 0, 1);
}
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                             const float *alpha, const void *a, cudaDataType ka, int lda, const void *b,
                             cudaDataType kb, int ldb, const float *beta, void *c, cudaDataType kc, int ldc) {
  return multiply(handle, ta, tb, m, n, k, *alpha, a, ka, lda, 0, b, kb, ldb, 0, *beta, c, kc, ldc, 0, 1);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType ka, int lda,
                                          long long sa, const void *b, cudaDataType kb, int ldb, long long sb,
                                          const void *beta, void *c, cudaDataType kc, int ldc, long long sc, int batch,
                                          cublasComputeType_t type, cublasGemmAlgo_t algorithm) {
  return multiply(handle, ta, tb, m, n, k, scalar(alpha, type), a, ka, lda, sa, b, kb, ldb, sb, scalar(beta, type), c,
                  kc, ldc, sc, batch);
}
/* TensorFlow multiplies a matrix by a vector so. */
cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                              const float *a, int lda, const float *x, int incx, const float *beta, float *y,
                              int incy) {
  int rows = trans == CUBLAS_OP_N ? m : n, inner = trans == CUBLAS_OP_N ? n : m;
  if (incx != 1 || incy != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  return multiply(handle, trans, CUBLAS_OP_N, rows, 1, inner, *alpha, a, CUDA_R_32F, lda, 0, x, CUDA_R_32F, inner, 0,
                  *beta, y, CUDA_R_32F, rows, 0, 1);
}
