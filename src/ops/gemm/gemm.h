// C (+)= A B for single precision. M rows of C, N columns (contiguous), K summed.
// Two forms cover every product of a layer and its gradients without transposing anything:
//   dot: A and B are contiguous along K (a row of A times a row of B);
//   axpy: B is contiguous along N, A has any strides.
// The sum over K runs in vectors of fixed lanes and blocks of kBlockK, whatever the threads: the
// bits depend on the shapes and the SIMD target alone, and the error stays below one eps of the sum
// of absolute products.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {

struct GemmMatrix {
  const float* data;
  size_t row;    // distance of rows (A: along M; B of dot: along N; B of axpy: along K)
  size_t k = 1;  // distance along K; used by A of axpy
};

// A tile of C: rows [m0, m1) x columns [n0, n1).
struct GemmTile {
  size_t m0, m1, n0, n1;
};

// What happens to the product before it is stored.
struct GemmTarget {
  float* data;
  size_t row;
  bool accumulate;
  const float* bias = nullptr;  // one per column, contiguous
};

struct GemmKernels {
  void (*dot)(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k,
              const GemmTile& tile);
  void (*axpy)(const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c, size_t k,
               const GemmTile& tile);
  // sums[n] (+)= the sum over m of a[m * row + n].
  void (*column_sums)(const float* a, size_t row, size_t m, size_t n, float* sums, bool accumulate);
};
const GemmKernels* gemm_kernels();

enum class GemmForm { kDot, kAxpy };

struct NoFinish {
  void operator()(const GemmTile&) const {}
};

// 64 columns x 32 rows: the part of B that a tile reads stays in the second-level cache for K up to
// some thousands, and a tile of the smallest worthwhile product takes a few microseconds.
constexpr size_t kTileM = 32;
constexpr size_t kTileN = 64;

// Tiles of C are the grains; finish(tile) runs on each when it is complete and still in the cache:
// there a fused activation is applied.
template <class Finish>
void run_gemm(const GemmKernels& kernels, GemmForm form, size_t threads, size_t m, size_t n,
              size_t k, const GemmMatrix& a, const GemmMatrix& b, const GemmTarget& c,
              const Finish& finish) {
  const auto kernel = form == GemmForm::kDot ? kernels.dot : kernels.axpy;
  if (m <= kTileM && n <= kTileN) {  // the smallest products should not pay for the plan
    const GemmTile tile = {.m0 = 0, .m1 = m, .n0 = 0, .n1 = n};
    kernel(a, b, c, k, tile);
    return finish(tile);
  }
  const size_t tiles_n = div_up(n, kTileN);
  const size_t tiles = tiles_n * div_up(m, kTileM);
  // About 30 GFLOP/s on one core.
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 15;
  parallel_for(useful_threads(threads, work), tiles, [&](size_t t, size_t) {
    const GemmTile tile = {.m0 = t / tiles_n * kTileM,
                           .m1 = std::min(m, (t / tiles_n + 1) * kTileM),
                           .n0 = t % tiles_n * kTileN,
                           .n1 = std::min(n, (t % tiles_n + 1) * kTileN)};
    kernel(a, b, c, k, tile);
    finish(tile);
  });
}

}  // namespace bnns::impl
