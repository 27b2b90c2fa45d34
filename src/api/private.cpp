// The functions for the other libraries of this project: see core/private.h.
#include "core/private.h"

#include "core/filter.h"
#include "core/log.h"
#include "core/parallel.h"

using namespace bnns::impl;

extern "C" {

void OpenBNNSPrivateRun(size_t grains, double nanoseconds, ThreadPool::Body body, void* context) {
  const size_t threads = useful_threads(default_threads(), nanoseconds);
  if (threads <= 1 || grains <= 1) return ThreadPool::run_serially(grains, body, context);
  ThreadPool::instance().run(threads, grains, body, context);
}

void OpenBNNSPrivateRecordFailure(const char* text, bool unsupported) {
  record_failure(nullptr,
                 Error{.text = Text(text),
                       .failure = unsupported ? Failure::kUnsupported : Failure::kInvalid});
}

const ImageKernels* OpenBNNSPrivateImageKernels(void) {
  return image_kernels();
}
void OpenBNNSPrivateHalfToFloat(const uint16_t* in, size_t n, float* out) {
  convert_halves(in, n, out);
}
void OpenBNNSPrivateFloatToHalf(const float* in, size_t n, uint16_t* out) {
  convert_halves(in, n, out);
}

}  // extern "C"
