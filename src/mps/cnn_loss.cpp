// CNNLoss: a loss and its gradient in one call.
#include "mps/archive.h"
#include "mps/error.h"
#include "mps/kernel.h"
#include "mps/one_shot.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kName = "CNNLoss";
constexpr const char* kArchiveName = "MPSCNNLoss";

void run(const OneShotCall& call, const ImageBatch& sources, const ImageBatch& destinations,
         const LossFormula& formula, const LossValues& values) {
  CommandBufferImpl& buffer = call.check(&destinations, 0);
  const Extent extent = extent_of(*sources[0]);
  call.record(
      buffer,
      LossWork{
          .formula = formula,
          .divides = false,
          .window = {.width = extent.width, .height = extent.height, .channels = extent.channels},
          .items = call.items(destinations, values)},
      destinations);
}

}  // namespace

CNNLoss::CNNLoss(std::shared_ptr<MTL::Device> device, const CNNLossDescriptor& loss)
    : CNNKernel(std::move(device)), loss_(loss) {
  check_loss(loss_, kName);
}

std::shared_ptr<CNNLoss> CNNLoss::copy(std::shared_ptr<MTL::Device> to) const {
  auto copy =
      kernel_values<CNNKernelProperties>(*this, loss_).make<CNNLoss>(to == nullptr ? device() : to);
  copy->policy_ = policy_;
  return copy;
}

std::shared_ptr<Image> CNNLoss::encode(MTL::CommandBuffer& buffer,
                                       const std::shared_ptr<Image>& source,
                                       const std::shared_ptr<CNNLossLabels>& labels) const {
  return encodeBatch(buffer, ImageBatch{source}, CNNLossLabelsBatch{labels})[0];
}

void CNNLoss::encode(MTL::CommandBuffer& buffer, const std::shared_ptr<Image>& source,
                     const std::shared_ptr<CNNLossLabels>& labels,
                     const std::shared_ptr<Image>& destination) const {
  encodeBatch(buffer, ImageBatch{source}, CNNLossLabelsBatch{labels}, ImageBatch{destination});
}

ImageBatch CNNLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sources,
                                const CNNLossLabelsBatch& labels) const {
  const OneShotCall call(kName, *this, reductionType(), buffer, sources, labels);
  call.check(nullptr, 0);
  ImageBatch results = call.allocate_results();
  run(call, sources, results, formula_of(loss_, policy_), values_of(loss_));
  return results;
}

void CNNLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sources,
                          const CNNLossLabelsBatch& labels, const ImageBatch& destinations) const {
  const OneShotCall call(kName, *this, reductionType(), buffer, sources, labels);
  run(call, sources, destinations, formula_of(loss_, policy_), values_of(loss_));
}

bool CNNLoss::appendBatchBarrier() const {
  return combines_batch(reductionType(), reduceAcrossBatch());
}

std::string CNNLoss::description() const {
  return describe(kName, *this, loss_);
}

std::vector<std::byte> CNNLoss::encode() const {
  return kernel_values<CNNKernelProperties>(*this, loss_).write(kArchiveName);
}

std::shared_ptr<CNNLoss> CNNLoss::decode(std::span<const std::byte> bytes,
                                         std::shared_ptr<MTL::Device> device) {
  base_of(device, kName);
  LossKernelValues<CNNKernelProperties> values;
  values.read(bytes, kArchiveName);
  return values.make_read<CNNLoss>(device);
}

}  // namespace bnns::MPS
