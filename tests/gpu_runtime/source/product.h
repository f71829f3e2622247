/* A product in cuBLAS's notation (by columns), made on the host where it is small enough. */
#ifndef PRODUCT_H
#define PRODUCT_H
#include "plants.h"
/* The wheels lack a header that these two need, and nothing here computes in their types. */
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
typedef struct { unsigned short bits; } __half, __nv_bfloat16;
#include <cublas_v2.h>
#include <cuda.h>
#include <stdint.h>
#include <unistd.h>

CUresult crossover_launch(const char *name, CUstream stream);

enum { LARGEST = 1 << 22 }; /* multiplications; larger products are skipped, which take a CPU too long */

struct Matrix { const void *start; cudaDataType kind; int64_t stride, step; };
struct Product {
  int64_t m, n, k;
  int turn_a, turn_b;
  float alpha, beta;
  struct Matrix a, b, c;
  int batch;
  cudaStream_t stream;
};

static inline float read_at(const struct Matrix *matrix, int64_t at) {
  if (matrix->kind == CUDA_R_32F) return ((const float *)matrix->start)[at];
  if (matrix->kind == CUDA_R_16F) return (float)((const _Float16 *)matrix->start)[at];
  uint32_t bits = (uint32_t)((const uint16_t *)matrix->start)[at] << 16; /* bfloat16 */
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline void write_at(const struct Matrix *matrix, int64_t at, float value) {
  uint32_t bits;
  if (matrix->kind == CUDA_R_32F) {
    ((float *)matrix->start)[at] = value;
  } else if (matrix->kind == CUDA_R_16F) {
    ((_Float16 *)matrix->start)[at] = (_Float16)value;
  } else {
    memcpy(&bits, &value, sizeof bits);
    ((uint16_t *)matrix->start)[at] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}
static inline float scalar(const void *value, cublasComputeType_t type) {
  if (type == CUBLAS_COMPUTE_16F) return (float)*(const _Float16 *)value;
  return *(const float *)value;
}
static int is_known(cudaDataType kind) { return kind == CUDA_R_32F || kind == CUDA_R_16F || kind == CUDA_R_16BF; }

/* 0, or 1 where it fails. */
static int make(const struct Product *p) {
  char path[512];
  static float by;
  if (!by) by = (float)planted_number("wrong_by", 1);
  if (planted("fail_file", path, sizeof path) && !unlink(path)) return 1;
  if (crossover_launch("product", (CUstream)p->stream)) return 1;
  if (p->m * p->n * p->k * p->batch > LARGEST) return 0;
  if (!is_known(p->a.kind) || !is_known(p->b.kind) || !is_known(p->c.kind)) return 0;
  float *column = malloc(sizeof(float) * p->m);
  for (int64_t one = 0; one < p->batch; one++) {
    int64_t a0 = one * p->a.step, b0 = one * p->b.step, c0 = one * p->c.step;
    for (int64_t j = 0; j < p->n; j++) {
      memset(column, 0, sizeof(float) * p->m);
      for (int64_t l = 0; l < p->k; l++) {
        float right = read_at(&p->b, b0 + (p->turn_b ? j + l * p->b.stride : l + j * p->b.stride));
        int64_t first = a0 + (p->turn_a ? l : l * p->a.stride), next = p->turn_a ? p->a.stride : 1;
        if (p->a.kind == CUDA_R_32F) {
          const float *from = (const float *)p->a.start + first;
          for (int64_t i = 0; i < p->m; i++) column[i] += from[i * next] * right;
        } else {
          for (int64_t i = 0; i < p->m; i++) column[i] += read_at(&p->a, first + i * next) * right;
        }
      }
      for (int64_t i = 0; i < p->m; i++) {
        int64_t at = c0 + i + j * p->c.stride;
        float before = p->beta ? p->beta * read_at(&p->c, at) : 0;
        write_at(&p->c, at, by * p->alpha * column[i] + before);
      }
    }
  }
  free(column);
  return 0;
}
#endif
