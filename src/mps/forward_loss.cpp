// NNForwardLoss: the loss alone, and the states that carry its values to the gradient.
#include "mps/archive.h"
#include "mps/checks.h"
#include "mps/error.h"
#include "mps/kernel.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kName = "NNForwardLoss";
constexpr const char* kArchiveName = "MPSNNForwardLoss";

struct Call {
  const NNForwardLoss& kernel;
  MTL::CommandBuffer& buffer;
  const ImageBatch &sources, &labels, &weights;
  const StateBatch& states;

  std::vector<Role> roles(const ImageBatch* destinations) const {
    std::vector<Role> roles{{"sourceImages", sources}, {"labels", labels}};
    if (!weights.empty()) roles.push_back({"weights", weights});
    if (destinations != nullptr)
      roles.push_back({.name = "destinationImages", .images = *destinations, .destination = true});
    return roles;
  }
};

Extent result_extent(const NNForwardLoss& kernel, const Image& source) {
  return kernel.reductionType() == CNNReductionType::None ? extent_of(source) : Extent{1, 1, 1};
}

CommandBufferImpl& check(const Call& call, const ImageBatch* destinations) {
  const std::vector<Role> roles = call.roles(destinations);
  const States states{"destinationStates", call.states};
  const std::shared_ptr<MTL::Device> device = call.kernel.device();
  const EncodeChecks checks(kName, device);
  checks.present(roles, states);
  checks.not_empty(roles);
  checks.same_length(roles, states);
  checks.covers(roles[1], call.sources);
  if (!call.weights.empty()) checks.covers(roles[2], call.sources);
  if (destinations != nullptr)
    checks.has_room(roles.back(), result_extent(call.kernel, *call.sources[0]));
  checks.uniform(roles);
  checks.destination_formats(roles);
  checks.disjoint(roles);
  CommandBufferImpl& buffer = checks.same_device(call.buffer, roles, states);
  checks.usable(buffer, roles, states);
  for (std::size_t i = 0; i < call.states.size(); ++i)
    require(dynamic_cast<const LossGradientState*>(call.states[i].get()) != nullptr,
            ErrorCode::InvalidArgument, kName, ": destinationStates[", i,
            "] was not made by NNForwardLoss");
  checks.plain_properties(call.kernel, call.sources[0]->featureChannels());
  return buffer;
}

void record(const Call& call, const ImageBatch& destinations, CommandBufferImpl& buffer,
            const CNNLossDescriptor& loss) {
  LossWork work{.formula = formula_of(loss, LossFormulaPolicy::Consistent)};
  work.items.reserve(destinations.size());
  for (std::size_t i = 0; i < destinations.size(); ++i)
    work.items.push_back({.source = storage_of(call.sources[i]),
                          .labels = storage_of(call.labels[i]),
                          .weights = call.weights.empty() ? nullptr : storage_of(call.weights[i]),
                          .loss = storage_of(destinations[i]),
                          .values = values_of(loss)});
  record_and_consume(buffer, std::move(work), call.roles(&destinations), {});
  for (const auto& state : call.states)
    static_cast<LossGradientState&>(*state).values = values_of(loss);
}

StateBatch make_states(const NNForwardLoss& kernel, const CNNLossDescriptor& loss,
                       std::optional<Temporary> temporary, std::size_t count) {
  StateBatch states;
  const auto device = std::static_pointer_cast<DeviceBase>(kernel.device());
  for (std::size_t i = 0; i < count; ++i)
    states.push_back(std::make_shared<LossGradientState>(
        std::make_shared<StateStorage>(device, temporary), values_of(loss)));
  return states;
}

void check_sources(const NNForwardLoss& kernel, const ImageBatch& sources, const char* call) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    require(sources[i] != nullptr, ErrorCode::InvalidArgument, kName, "::", call, ": sourceImages[",
            i, "] is null");
    require(sources[i]->device() == kernel.device(), ErrorCode::DeviceMismatch, kName, "::", call,
            ": sourceImages[", i, "] belongs to another device");
  }
}

}  // namespace

NNForwardLoss::NNForwardLoss(std::shared_ptr<MTL::Device> device, const CNNLossDescriptor& loss)
    : CNNKernel(std::move(device)), loss_(loss) {
  check_loss(loss_, kName);
}

std::shared_ptr<NNForwardLoss> NNForwardLoss::copy(std::shared_ptr<MTL::Device> to) const {
  auto copy = kernel_values<CNNKernelProperties>(*this, loss_)
                  .make<NNForwardLoss>(to == nullptr ? device() : to);
  return copy;
}

void NNForwardLoss::setWeight(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.weight = value; });
}
void NNForwardLoss::setLabelSmoothing(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.labelSmoothing = value; });
}
void NNForwardLoss::setEpsilon(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.epsilon = value; });
}
void NNForwardLoss::setDelta(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.delta = value; });
}

ImageBatch NNForwardLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sourceImages,
                                      const ImageBatch& labels, const ImageBatch& weights,
                                      StateBatch* outStates, bool statesAreTemporary) const {
  StateBatch states;
  const Call call{*this, buffer, sourceImages, labels, weights, states};
  const CommandBufferImpl& impl = check(call, nullptr);
  if (outStates != nullptr) {
    std::optional<Temporary> temporary;
    if (statesAreTemporary) temporary = Temporary{.buffer = impl.id()};
    states = make_states(*this, loss_, temporary, sourceImages.size());
  }
  const Extent extent = result_extent(*this, *sourceImages[0]);
  ImageBatch results = allocate(destinationImageAllocator, buffer,
                                {.channelFormat = ImageFeatureChannelFormat::Float32,
                                 .width = extent.width,
                                 .height = extent.height,
                                 .featureChannels = extent.channels},
                                *this, sourceImages.size());
  record(call, results, check(call, &results), loss_);
  if (outStates != nullptr) *outStates = std::move(states);
  return results;
}

void NNForwardLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sourceImages,
                                const ImageBatch& labels, const ImageBatch& weights,
                                const StateBatch& destinationStates,
                                const ImageBatch& destinationImages) const {
  const Call call{*this, buffer, sourceImages, labels, weights, destinationStates};
  record(call, destinationImages, check(call, &destinationImages), loss_);
}

StateBatch NNForwardLoss::resultStateBatch(const ImageBatch& sourceImages) const {
  check_sources(*this, sourceImages, "resultStateBatch");
  return make_states(*this, loss_, std::nullopt, sourceImages.size());
}

StateBatch NNForwardLoss::temporaryResultStateBatch(MTL::CommandBuffer& buffer,
                                                    const ImageBatch& sourceImages) const {
  constexpr const char* kCall = "temporaryResultStateBatch";
  check_sources(*this, sourceImages, kCall);
  const CommandBufferImpl& impl = impl_of(buffer, *device(), kName);
  require(!impl.committed(), ErrorCode::InvalidState, kName, "::", kCall,
          ": the command buffer is already committed");
  return make_states(*this, loss_, Temporary{.buffer = impl.id()}, sourceImages.size());
}

bool NNForwardLoss::appendBatchBarrier() const {
  return combines_batch(reductionType(), reduceAcrossBatch());
}

std::string NNForwardLoss::description() const {
  return describe(kName, *this, loss_);
}

std::vector<std::byte> NNForwardLoss::encode() const {
  return kernel_values<CNNKernelProperties>(*this, loss_).write(kArchiveName);
}

std::shared_ptr<NNForwardLoss> NNForwardLoss::decode(std::span<const std::byte> bytes,
                                                     std::shared_ptr<MTL::Device> device) {
  base_of(device, kName);
  LossKernelValues<CNNKernelProperties> values;
  values.read(bytes, kArchiveName);
  return values.make_read<NNForwardLoss>(device);
}

}  // namespace bnns::MPS
