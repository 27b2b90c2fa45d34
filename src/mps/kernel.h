// What the loss kernels share: names, checks of a loss descriptor, the parts of a problem.
#pragma once

#include <string>

#include "mps/image_storage.h"
#include "mps/work.h"

namespace bnns::impl::mps {

const char* name_of(MPS::CNNLossType type);
const char* name_of(MPS::CNNReductionType reduction);

// Every rule for the values of a descriptor, in a fixed order. `where` begins the text.
void check_loss(const MPS::CNNLossDescriptor& loss, const char* where);

// A copy of the descriptor that has passed check_loss, after `change`.
template <class Change>
MPS::CNNLossDescriptor changed_loss(MPS::CNNLossDescriptor loss, const char* where,
                                    const Change& change) {
  change(loss);
  check_loss(loss, where);
  return loss;
}

LossFormula formula_of(const MPS::CNNLossDescriptor& loss, MPS::LossFormulaPolicy policy);
LossValues values_of(const MPS::CNNLossDescriptor& loss);

// "name { type reduction ... }"
std::string describe(const char* name, const MPS::Kernel& kernel,
                     const MPS::CNNLossDescriptor& loss);
std::string describe(const char* name, const MPS::Kernel& kernel, const std::string& rest);

// True if the reduction combines the images of a batch.
bool combines_batch(MPS::CNNReductionType reduction, bool across_batch);

// Float32 if one of the formats is, otherwise Float16.
MPS::ImageFeatureChannelFormat result_format(std::initializer_list<const MPS::Image*> images);

// What a kernel's allocator returns; an allocator that is null returns null images.
MPS::ImageBatch allocate(const std::shared_ptr<MPS::ImageAllocator>& allocator,
                         MTL::CommandBuffer& buffer, const MPS::ImageDescriptor& descriptor,
                         const MPS::Kernel& kernel, size_t count);

// The values of a forward pass for the gradient, as they were when it was encoded.
class LossGradientState final : public MPS::State {
 public:
  LossGradientState(std::shared_ptr<StateStorage> storage, const LossValues& values)
      : State(std::move(storage)), values(values) {}
  std::size_t resourceSize() const override { return sizeof values; }

  LossValues values;
};

}  // namespace bnns::impl::mps
