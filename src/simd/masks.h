// OPENBNNS_MASKS_ARE_SAFE: whether masked loads and stores of 32-bit lanes leave the memory of the
// other lanes alone, in the kernels of the target at hand. Highway says so for fewer targets (its
// answer covers 8-bit lanes), and for the scalar one, whose masked load reads before it chooses.
#pragma once

#include "hwy/highway.h"

#define OPENBNNS_MASKS_ARE_SAFE \
  (HWY_TARGET == HWY_AVX2 || (HWY_TARGET != HWY_SCALAR && !HWY_MEM_OPS_MIGHT_FAULT))
