// The constants of the formulas of a loss, and the kernels that compute them.
#pragma once

#include "core/private.h"
#include "mps/work.h"

namespace bnns::impl::mps {

// Labels become keep * t + added.
struct ElementConstants {
  double keep = 1, added = 0;
  double epsilon = 0, delta = 1;
  bool as_printed = false;
};
ElementConstants constants_of(const LossFormula& formula, const LossValues& values);

// The same for the kernels of the core library.
ImageLossConstants kernel_constants(const LossFormula& formula, const LossValues& values);

// Of the SIMD target that is chosen now.
struct LossKernelSet {
  ImageLossKernel loss, by_y, by_t;
};
LossKernelSet kernels_of(const LossFormula& formula);

}  // namespace bnns::impl::mps
