/* libcublasLt.so.12 without a GPU: what TensorFlow and XLA ask of it, by the products of product.h. */
#include "product.h"
#include <cublasLt.h>

typedef struct { cublasOperation_t a, b; cublasComputeType_t type; cublasLtEpilogue_t epilogue; const void *bias; } Descriptor;
typedef struct { cudaDataType kind; uint64_t rows, cols; int64_t stride, step; int32_t batch; cublasLtOrder_t order; } Layout;

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { *handle = calloc(1, 8); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { free(handle); return CUBLAS_STATUS_SUCCESS; }
size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion(void) { return CUDA_VERSION; }
const char *cublasLtGetStatusString(cublasStatus_t status) { return status ? "failed" : "success"; }
const char *cublasLtGetStatusName(cublasStatus_t status) { return status ? "FAILED" : "SUCCESS"; }
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t description, size_t size, cublasComputeType_t type,
                                               cudaDataType_t scale) {
  *(Descriptor *)description = (Descriptor){CUBLAS_OP_N, CUBLAS_OP_N, type, CUBLASLT_EPILOGUE_DEFAULT, NULL};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description, cublasComputeType_t type, cudaDataType_t scale) {
  *description = calloc(1, 512);
  return cublasLtMatmulDescInit_internal(*description, 512, type, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) { free(description); return CUBLAS_STATUS_SUCCESS; }
static void *field(Descriptor *of, cublasLtMatmulDescAttributes_t which) {
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return &of->a;
    case CUBLASLT_MATMUL_DESC_TRANSB: return &of->b;
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return &of->epilogue;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return &of->bias;
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return &of->type;
    default: return NULL;
  }
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t size) {
  void *to = field((Descriptor *)description, which);
  if (to) memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which,
                                              void *value, size_t size, size_t *written) {
  void *from = field((Descriptor *)description, which);
  memset(value, 0, size);
  if (from) memcpy(value, from, size);
  if (written) *written = size;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType kind, uint64_t rows,
                                          uint64_t cols, int64_t stride) {
  *layout = calloc(1, 512);
  *(Layout *)*layout = (Layout){kind, rows, cols, stride, 0, 1, CUBLASLT_ORDER_COL};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { free(layout); return CUBLAS_STATUS_SUCCESS; }
static void *part(Layout *of, cublasLtMatrixLayoutAttribute_t which) {
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return &of->kind;
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return &of->order;
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return &of->rows;
    case CUBLASLT_MATRIX_LAYOUT_COLS: return &of->cols;
    case CUBLASLT_MATRIX_LAYOUT_LD: return &of->stride;
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return &of->batch;
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return &of->step;
    default: return NULL;
  }
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void *value, size_t size) {
  void *to = part((Layout *)layout, which);
  if (to) memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                void *value, size_t size, size_t *written) {
  void *from = part((Layout *)layout, which);
  memset(value, 0, size);
  if (from) memcpy(value, from, size);
  if (written) *written = size;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = calloc(1, 512);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  free(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void *value,
                                                    size_t size) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *found) {
  memset(results, 0, sizeof *results);
  results->wavesCount = 1;
  *found = most > 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t which, void *value,
                                                    size_t size, size_t *written) {
  memset(value, 0, size);
  if (written) *written = size;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb,
                              const void *beta, const void *c, cublasLtMatrixLayout_t lc, void *d,
                              cublasLtMatrixLayout_t ld, const cublasLtMatmulAlgo_t *algorithm, void *space,
                              size_t size, cudaStream_t stream) {
  const Descriptor *of = (const Descriptor *)description;
  const Layout *A = (const Layout *)la, *B = (const Layout *)lb, *D = (const Layout *)ld;
  int turned = of->a != CUBLAS_OP_N;
  struct Product product = {(int64_t)D->rows, (int64_t)D->cols, (int64_t)(turned ? A->rows : A->cols), turned,
                            of->b != CUBLAS_OP_N, scalar(alpha, of->type), c == d ? scalar(beta, of->type) : 0,
                            {a, A->kind, A->stride, A->step}, {b, B->kind, B->stride, B->step},
                            {d, D->kind, D->stride, D->step}, D->batch, stream};
  if (make(&product)) return CUBLAS_STATUS_EXECUTION_FAILED;
  int wants_bias = of->epilogue == CUBLASLT_EPILOGUE_BIAS || of->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  int wants_relu = of->epilogue == CUBLASLT_EPILOGUE_RELU || of->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  struct Matrix bias = {of->bias, D->kind, 0, 0};
  if (product.m * product.n * product.k * D->batch > LARGEST || !is_known(D->kind)) return CUBLAS_STATUS_SUCCESS;
  if (D->batch > 1 && (wants_bias || wants_relu)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int64_t j = 0; j < product.n && (wants_bias || wants_relu); j++)
    for (int64_t i = 0; i < product.m; i++) {
      float value = read_at(&product.c, i + j * D->stride);
      if (wants_bias && of->bias) value += read_at(&bias, i);
      write_at(&product.c, i + j * D->stride, wants_relu && value < 0 ? 0 : value);
    }
  return CUBLAS_STATUS_SUCCESS;
}
