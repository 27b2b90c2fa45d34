#include "mps/kernel.h"

#include <cmath>

#include "mps/error.h"

namespace bnns::impl::mps {

using MPS::CNNLossType;
using MPS::CNNReductionType;

namespace {

constexpr const char* kLossNames[] = {"MeanAbsoluteError",
                                      "MeanSquaredError",
                                      "SoftMaxCrossEntropy",
                                      "SigmoidCrossEntropy",
                                      "CategoricalCrossEntropy",
                                      "Hinge",
                                      "Huber",
                                      "CosineDistance",
                                      "Log",
                                      "KullbackLeiblerDivergence"};
constexpr const char* kReductionNames[] = {"None", "Sum", "Mean", "SumByNonZeroWeights"};

}  // namespace

const char* name_of(CNNLossType type) {
  return type < CNNLossType::Count ? kLossNames[static_cast<size_t>(type)] : "unknown";
}
const char* name_of(CNNReductionType reduction) {
  return reduction >= CNNReductionType::None && reduction < CNNReductionType::Count
             ? kReductionNames[static_cast<size_t>(reduction)]
             : "unknown";
}

void check_loss(const MPS::CNNLossDescriptor& loss, const char* where) {
  constexpr auto kBad = ErrorCode::InvalidArgument;
  require(loss.lossType < CNNLossType::Count, kBad, where, ": lossType is ",
          static_cast<uint32_t>(loss.lossType), "; it must be below 10");
  require(
      loss.reductionType >= CNNReductionType::None && loss.reductionType < CNNReductionType::Count,
      kBad, where, ": reductionType is ", static_cast<int32_t>(loss.reductionType),
      "; it must be from 0 to 3");
  require(
      loss.lossType != CNNLossType::CosineDistance || loss.reductionType == CNNReductionType::Sum,
      kBad, where, ": reductionType is ", name_of(loss.reductionType),
      "; CosineDistance has only Sum");
  require(loss.numberOfClasses > 0 || loss.lossType != CNNLossType::SoftMaxCrossEntropy ||
              !(loss.labelSmoothing > 0),
          kBad, where, ": numberOfClasses is 0; label smoothing divides by it");
  require(loss.labelSmoothing >= 0 && loss.labelSmoothing <= 1, kBad, where, ": labelSmoothing is ",
          loss.labelSmoothing, "; it must be from 0 to 1");
  require(std::isfinite(loss.epsilon) && loss.epsilon >= 0, kBad, where, ": epsilon is ",
          loss.epsilon, "; it must be finite and at least 0");
  require(std::isfinite(loss.delta) && loss.delta > 0, kBad, where, ": delta is ", loss.delta,
          "; it must be finite and above 0");
  require(std::isfinite(loss.weight), kBad, where, ": weight is ", loss.weight,
          "; it must be finite");
}

LossFormula formula_of(const MPS::CNNLossDescriptor& loss, MPS::LossFormulaPolicy policy) {
  return {.type = loss.lossType,
          .reduction = loss.reductionType,
          .across_batch = loss.reduceAcrossBatch,
          .classes = loss.numberOfClasses,
          .as_printed = policy == MPS::LossFormulaPolicy::AsPrinted};
}

LossValues values_of(const MPS::CNNLossDescriptor& loss) {
  return {loss.weight, loss.labelSmoothing, loss.epsilon, loss.delta};
}

std::string describe(const char* name, const MPS::Kernel& kernel, const std::string& rest) {
  std::ostringstream text;
  text << name << " { device " << kernel.device()->name() << ", label \"" << kernel.label << '"'
       << rest << " }";
  return text.str();
}

std::string describe(const char* name, const MPS::Kernel& kernel,
                     const MPS::CNNLossDescriptor& loss) {
  std::ostringstream rest;
  rest << ", lossType " << name_of(loss.lossType) << ", reductionType "
       << name_of(loss.reductionType) << ", reduceAcrossBatch "
       << (loss.reduceAcrossBatch ? "true" : "false") << ", weight " << loss.weight
       << ", labelSmoothing " << loss.labelSmoothing << ", numberOfClasses " << loss.numberOfClasses
       << ", epsilon " << loss.epsilon << ", delta " << loss.delta;
  return describe(name, kernel, rest.str());
}

bool combines_batch(CNNReductionType reduction, bool across_batch) {
  return across_batch && reduction != CNNReductionType::None;
}

MPS::ImageFeatureChannelFormat result_format(std::initializer_list<const MPS::Image*> images) {
  for (const MPS::Image* image : images) {
    if (image->featureChannelFormat() == MPS::ImageFeatureChannelFormat::Float32)
      return MPS::ImageFeatureChannelFormat::Float32;
  }
  return MPS::ImageFeatureChannelFormat::Float16;
}

MPS::ImageBatch allocate(const std::shared_ptr<MPS::ImageAllocator>& allocator,
                         MTL::CommandBuffer& buffer, const MPS::ImageDescriptor& descriptor,
                         const MPS::Kernel& kernel, size_t count) {
  if (allocator == nullptr) return MPS::ImageBatch(count);
  return allocator->imageBatch(buffer, descriptor, kernel, count);
}

}  // namespace bnns::impl::mps

namespace bnns::MPS {

Kernel::Kernel(std::shared_ptr<MTL::Device> device) : device_(std::move(device)) {
  impl::mps::base_of(device_, "Kernel");
}

std::shared_ptr<MTL::Device> Kernel::device() const {
  return device_;
}

}  // namespace bnns::MPS
