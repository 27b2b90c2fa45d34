// The fused activation of rows of C as the epilogue of a product: applied to every part of C while
// it is in the cache.
#pragma once

#include <cstddef>

#include "ops/activation/fused.h"
#include "ops/gemm/gemm.h"

namespace bnns::impl {

// Lives as long as the product runs.
struct GemmActivation {
  const FusedActivation& f;
  float* c;
  size_t row;  // of C

  // Nothing for the identity, and for functions that are not of one element.
  GemmEpilogue epilogue() const {
    if (f.is_identity() || !f.is_element()) return {};
    return {.finish =
                [](const void* context, const GemmTile& tile) {
                  const auto& self = *static_cast<const GemmActivation*>(context);
                  self.f.forward({self.c + tile.m0 * self.row + tile.n0, self.row},
                                 tile.m1 - tile.m0, tile.n1 - tile.n0);
                },
            .context = this};
  }
};

}  // namespace bnns::impl
