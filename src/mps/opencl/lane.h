// A command queue of OpenCL with what only one thread at a time may use: kernel objects, which hold
// their arguments, and scratch memory. A device gives a lane to each piece of work that it
// executes.
#pragma once

#include <array>
#include <cstddef>

#include "mps/opencl/api.h"

namespace bnns::impl::mps::opencl {

// The kernels of the program, in the order of their names in lane.cpp.
enum class KernelId {
  Fold,
  StoreReduced,
  Ones,
  SoftmaxLargest,
  SoftmaxSum,
  SoftmaxFinish,
  Losses,
  SumLosses,
  Gradient,
  Yolo,
  Count
};

// Scratch memory by purpose: each grows to the largest size that was asked for.
enum class Scratch {
  Largest,
  ChunkSums,
  Normalizers,
  Sums,
  MoreSums,
  Totals,
  Counts,
  Anchors,
  Count
};

// What a lane belongs to.
struct Owner {
  const Api& api;
  Context context;
  DeviceId device;
  Program program;
};

class Lane {
 public:
  explicit Lane(const Owner& owner);

  // Runs the kernel for at least `items` work items; more than that must do nothing.
  template <class... Arguments>
  void launch(KernelId id, size_t items, const Arguments&... arguments) {
    const Made& made = kernel(id);
    uint32_t index = 0;
    (set_argument(made.kernel.get(), index++, sizeof arguments, &arguments), ...);
    enqueue(made, items);
  }
  Buffer scratch(Scratch purpose, size_t bytes);
  void read(Buffer buffer, size_t bytes, void* to);
  void write(Buffer buffer, size_t bytes, const void* from);
  void clear(Buffer buffer, size_t bytes);  // bytes: a multiple of 4
  void finish();

 private:
  struct Made {
    Owned<Kernel> kernel;
    size_t group = 0;
  };
  struct Piece {
    Owned<Buffer> buffer;
    size_t bytes = 0;
  };
  const Made& kernel(KernelId id);
  void set_argument(Kernel kernel, uint32_t index, size_t bytes, const void* value);
  void enqueue(const Made& made, size_t items);

  Owner owner_;
  Owned<CommandQueue> queue_;
  std::array<Made, static_cast<size_t>(KernelId::Count)> kernels_;
  std::array<Piece, static_cast<size_t>(Scratch::Count)> scratch_;
};

// A buffer of the device; null with the code if there is none.
Owned<Buffer> make_buffer(const Owner& owner, size_t bytes, int32_t& code);

}  // namespace bnns::impl::mps::opencl
