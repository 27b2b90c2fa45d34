// OPENBNNS_MASKS_ARE_SAFE: whether masked loads and stores of 32-bit lanes leave the memory of
// masked-out lanes alone on the current target. Highway's own HWY_MEM_OPS_MIGHT_FAULT does not fit:
// it is too strict for AVX2, because it covers 8-bit lanes as well, and too lax for the scalar
// target, whose masked load reads the element before it applies the mask.
#pragma once

#include "hwy/highway.h"

#define OPENBNNS_MASKS_ARE_SAFE \
  (HWY_TARGET == HWY_AVX2 || (HWY_TARGET != HWY_SCALAR && !HWY_MEM_OPS_MIGHT_FAULT))
