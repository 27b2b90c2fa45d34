// Moves elements between views of equal count, pairing them in the order of the views' axes (which
// need not be that of memory), with conversion where type or scaling differ.
#pragma once

#include <cstddef>

#include "core/view.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// Both views collapsed; types that can_write() for `to`.
void run_copy(const ConvertKernels& kernels, size_t threads, const View& from, const View& to);

}  // namespace bnns::impl
