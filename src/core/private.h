// What the library shares with the other libraries of this project. The core library hides its
// internals; these few functions are exported for libopenbnns_mps, so that a process has one pool
// of threads, one log and one SIMD target. They are no part of the API and may change with any
// version.
#pragma once

#include <cstddef>

#include "core/image_kernels.h"
#include "core/thread_pool.h"
#include "openbnns/openbnns.h"

extern "C" {

// Calls body(context, grain, worker) for every grain on the default number of threads, or serially
// if the whole job takes less than it costs to wake them. `nanoseconds`: of the job on one core.
OPENBNNS_API void OpenBNNSPrivateRun(size_t grains, double nanoseconds,
                                     bnns::impl::ThreadPool::Body body, void* context);

// Stores the text as the last error of this thread and logs it: as an error, or as information if
// the call was valid but is not supported.
OPENBNNS_API void OpenBNNSPrivateRecordFailure(const char* text, bool unsupported);

// The kernels of the SIMD target that is chosen now, and conversions with it.
OPENBNNS_API const bnns::impl::ImageKernels* OpenBNNSPrivateImageKernels(void);
OPENBNNS_API void OpenBNNSPrivateHalfToFloat(const uint16_t* in, size_t n, float* out);
OPENBNNS_API void OpenBNNSPrivateFloatToHalf(const float* in, size_t n, uint16_t* out);

}  // extern "C"
