#include "mps/opencl/lane.h"

#include <algorithm>

namespace bnns::impl::mps::opencl {
namespace {

constexpr const char* kKernelNames[] = {
    "fold",           "store_reduced", "ones",       "softmax_largest", "softmax_sum",
    "softmax_finish", "losses",        "sum_losses", "gradient",        "yolo"};
static_assert(std::size(kKernelNames) == static_cast<size_t>(KernelId::Count));

// Results do not depend on it. One size for all launches: some devices compile a kernel for each.
constexpr size_t kLargestGroup = 64;
constexpr uint32_t kBlocking = 1;

}  // namespace

Lane::Lane(const Owner& owner) : owner_(owner) {
  int32_t code = kSuccess;
  const CommandQueue queue = owner.api.CreateCommandQueue(owner.context, owner.device, 0, &code);
  check(code, "clCreateCommandQueue");
  queue_ = {queue, owner.api.ReleaseCommandQueue};
}

const Lane::Made& Lane::kernel(KernelId id) {
  Made& made = kernels_[static_cast<size_t>(id)];
  if (made.kernel.get() != nullptr) return made;
  int32_t code = kSuccess;
  const Kernel kernel =
      owner_.api.CreateKernel(owner_.program, kKernelNames[static_cast<size_t>(id)], &code);
  check(code, "clCreateKernel");
  Owned<Kernel> owned(kernel, owner_.api.ReleaseKernel);
  size_t most = 1;
  check(owner_.api.GetKernelWorkGroupInfo(kernel, owner_.device, kKernelWorkGroupSize, sizeof most,
                                          &most, nullptr),
        "clGetKernelWorkGroupInfo");
  made.kernel = std::move(owned);
  made.group = std::clamp<size_t>(most, 1, kLargestGroup);
  return made;
}

void Lane::set_argument(Kernel kernel, uint32_t index, size_t bytes, const void* value) {
  check(owner_.api.SetKernelArg(kernel, index, bytes, value), "clSetKernelArg");
}

void Lane::enqueue(const Made& made, size_t items) {
  if (items == 0) return;
  const size_t all = (items + made.group - 1) / made.group * made.group;
  check(owner_.api.EnqueueNDRangeKernel(queue_.get(), made.kernel.get(), 1, nullptr, &all,
                                        &made.group, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

Buffer Lane::scratch(Scratch purpose, size_t bytes) {
  Piece& piece = scratch_[static_cast<size_t>(purpose)];
  if (piece.bytes >= bytes && piece.buffer.get() != nullptr) return piece.buffer.get();
  int32_t code = kSuccess;
  Owned<Buffer> buffer = make_buffer(owner_, std::max<size_t>(bytes, 256), code);
  check(code, "clCreateBuffer");
  piece.buffer = std::move(buffer);
  piece.bytes = bytes;
  return piece.buffer.get();
}

void Lane::read(Buffer buffer, size_t bytes, void* to) {
  check(owner_.api.EnqueueReadBuffer(queue_.get(), buffer, kBlocking, 0, bytes, to, 0, nullptr,
                                     nullptr),
        "clEnqueueReadBuffer");
}

void Lane::write(Buffer buffer, size_t bytes, const void* from) {
  check(owner_.api.EnqueueWriteBuffer(queue_.get(), buffer, kBlocking, 0, bytes, from, 0, nullptr,
                                      nullptr),
        "clEnqueueWriteBuffer");
}

void Lane::clear(Buffer buffer, size_t bytes) {
  const uint32_t zero = 0;
  check(owner_.api.EnqueueFillBuffer(queue_.get(), buffer, &zero, sizeof zero, 0, bytes, 0, nullptr,
                                     nullptr),
        "clEnqueueFillBuffer");
  finish();
}

void Lane::finish() {
  check(owner_.api.Finish(queue_.get()), "clFinish");
}

Owned<Buffer> make_buffer(const Owner& owner, size_t bytes, int32_t& code) {
  code = kSuccess;
  const Buffer buffer = owner.api.CreateBuffer(owner.context, kReadWrite, bytes, nullptr, &code);
  return code == kSuccess ? Owned<Buffer>(buffer, owner.api.ReleaseMemObject) : Owned<Buffer>();
}

}  // namespace bnns::impl::mps::opencl
