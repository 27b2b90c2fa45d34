/* A program in C that multiplies matrices the way numerical code does: a filter is made for each
   product, applied and destroyed, in Float32, Float16 and BFloat16, into parts of larger matrices,
   from several threads at a time. Every result is compared with a plain loop. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

enum { kThreads = 4, kRounds = 60 };

static BNNSDataType const kTypes[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                      BNNSDataTypeBFloat16};

static size_t bytes_of(BNNSDataType type) {
  return type == BNNSDataTypeFloat32 ? 4 : 2;
}

static uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* Multiples of 1/8 between -2 and 2 have a short representation in all three types. */
static void put(void* base, BNNSDataType type, size_t i, float v) {
  const uint32_t bits = bits_of(v);
  if (type == BNNSDataTypeFloat32) {
    ((float*)base)[i] = v;
  } else if (type == BNNSDataTypeBFloat16) {
    ((uint16_t*)base)[i] = (uint16_t)(bits >> 16);
  } else {
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    const uint32_t half = magnitude == 0 ? 0 : (magnitude - 0x38000000u) >> 13;
    ((uint16_t*)base)[i] = (uint16_t)((bits >> 16 & 0x8000u) | half);
  }
}

static float get(const void* base, BNNSDataType type, size_t i) {
  if (type == BNNSDataTypeFloat32) return ((const float*)base)[i];
  const uint32_t x = ((const uint16_t*)base)[i];
  if (type == BNNSDataTypeFloat16) {
    const int exponent = (int)(x >> 10 & 31);
    const float fraction = (float)(x & 1023);
    const float v = exponent == 0 ? ldexpf(fraction, -24) : ldexpf(1024 + fraction, exponent - 25);
    return x >> 15 ? -v : v;
  }
  const uint32_t bits = x << 16;
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* rows x columns of a matrix whose rows lie `row` values apart. */
static BNNSNDArrayDescriptor describe(size_t rows, size_t columns, size_t row, BNNSDataType type) {
  BNNSNDArrayDescriptor d;
  memset(&d, 0, sizeof d);
  d.layout = BNNSDataLayoutRowMajorMatrix;
  d.size[0] = columns;
  d.size[1] = rows;
  d.stride[0] = 1;
  d.stride[1] = row;
  d.data_type = type;
  d.data_scale = 1;
  return d;
}

static int multiply(const BNNSNDArrayDescriptor* a, const BNNSNDArrayDescriptor* b,
                    const BNNSNDArrayDescriptor* c, bool transposed, const void* pa, const void* pb,
                    void* pc) {
  BNNSLayerParametersBroadcastMatMul layer;
  memset(&layer, 0, sizeof layer);
  layer.alpha = 1;
  layer.transB = transposed;
  layer.iA_desc = *a;
  layer.iB_desc = *b;
  layer.o_desc = *c;
  BNNSFilter filter = BNNSFilterCreateLayerBroadcastMatMul(&layer, NULL);
  if (filter == NULL) return -1;
  const int status = BNNSFilterApplyTwoInput(filter, pa, pb, pc);
  BNNSFilterDestroy(filter);
  return status;
}

static float number(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)((int)(*state >> 27) - 16) / 8;
}

static int one_round(uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1;
  const size_t m = 1 + seed % 33, n = 1 + seed * 7 % 41, k = 1 + seed * 5 % 37;
  const bool transposed = seed % 2 != 0;
  const BNNSDataType ta = kTypes[seed % 3], tb = kTypes[seed / 3 % 3], tc = kTypes[seed / 9 % 3];
  const size_t c_row = n + seed % 5, margin = 3;
  const size_t b_rows = transposed ? n : k, b_columns = transposed ? k : n;
  void* a = malloc(m * k * bytes_of(ta));
  void* b = malloc(n * k * bytes_of(tb));
  const size_t c_size = margin + m * c_row;
  void* c = malloc(c_size * bytes_of(tc));
  int failed = a == NULL || b == NULL || c == NULL;
  for (size_t i = 0; !failed && i < m * k; ++i) put(a, ta, i, number(&state));
  for (size_t i = 0; !failed && i < n * k; ++i) put(b, tb, i, number(&state));
  for (size_t i = 0; !failed && i < c_size; ++i) put(c, tc, i, 1.5f);

  const BNNSNDArrayDescriptor da = describe(m, k, k, ta);
  const BNNSNDArrayDescriptor db = describe(b_rows, b_columns, b_columns, tb);
  const BNNSNDArrayDescriptor dc = describe(m, n, c_row, tc);
  if (!failed && multiply(&da, &db, &dc, transposed, a, b, (char*)c + margin * bytes_of(tc)) != 0) {
    fprintf(stderr, "round %u: %s\n", seed, OpenBNNSGetLastError());
    failed = 1;
  }
  for (size_t i = 0; !failed && i < c_size; ++i) {
    const size_t at = i - margin, row = at / c_row, column = at % c_row;
    double right = 1.5;
    if (i >= margin && column < n) {
      right = 0;
      for (size_t x = 0; x < k; ++x) {
        const size_t place = transposed ? column * k + x : x * n + column;
        right += (double)get(a, ta, row * k + x) * get(b, tb, place);
      }
    }
    /* The sum is exact in Float32; a result of 16 bits is rounded once. */
    const double unit = tc == BNNSDataTypeFloat32   ? 0
                        : tc == BNNSDataTypeFloat16 ? ldexp(1, -11)
                                                    : ldexp(1, -8);
    if (fabs(get(c, tc, i) - right) > unit * fabs(right)) {
      fprintf(stderr, "round %u: element %zu is %g, not %g\n", seed, i, get(c, tc, i), right);
      failed = 1;
    }
  }
  free(a);
  free(b);
  free(c);
  return failed;
}

static void* run(void* argument) {
  const uint32_t first = *(const uint32_t*)argument;
  for (uint32_t i = 0; i < kRounds; ++i)
    if (one_round(first + i)) return argument;
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  uint32_t first[kThreads];
  int failed = 0;
  for (uint32_t i = 0; i < kThreads; ++i) {
    first[i] = 1 + i * kRounds;
    if (pthread_create(&threads[i], NULL, run, &first[i]) != 0) return 1;
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    failed |= result != NULL;
  }
  printf("%d products by %d threads: %s\n", kThreads * kRounds, kThreads,
         failed ? "wrong" : "right");
  return failed;
}
