// What CNNLoss and CNNYOLOLoss share: a call with labels that hold images, its checks and the items
// of its problem.
#pragma once

#include <vector>

#include "mps/checks.h"

namespace bnns::impl::mps {

class OneShotCall {
 public:
  // `kernel`: has the properties of the call and names it in texts.
  OneShotCall(const char* name, const MPS::CNNKernel& kernel, MPS::CNNReductionType reduction,
              MTL::CommandBuffer& buffer, const ImageBatch& sources,
              const MPS::CNNLossLabelsBatch& labels);

  // All checks; the destinations are nullptr before they are allocated. channels: what the source
  // must have, or 0 for any number.
  CommandBufferImpl& check(const ImageBatch* destinations, size_t channels) const;
  // The destinations from the kernel's allocator.
  ImageBatch allocate_results() const;
  std::vector<LossItem> items(const ImageBatch& destinations, const LossValues& values) const;
  void record(CommandBufferImpl& buffer, Work work, const ImageBatch& destinations) const;

 private:
  std::vector<Role> roles(const ImageBatch* destinations) const;

  const char* name_;
  const MPS::CNNKernel& kernel_;
  MPS::CNNReductionType reduction_;
  MTL::CommandBuffer& buffer_;
  const ImageBatch& sources_;
  // The images and states inside the labels; a null entry leaves null images.
  StateBatch states_;
  ImageBatch labels_, weights_, losses_;
};

}  // namespace bnns::impl::mps
