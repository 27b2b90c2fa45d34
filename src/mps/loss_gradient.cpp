// NNLossGradient: the checks of its calls, and the region that they write.
#include <algorithm>

#include "mps/archive.h"
#include "mps/checks.h"
#include "mps/error.h"
#include "mps/kernel.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kName = "NNLossGradient";
constexpr const char* kArchiveName = "MPSNNLossGradient";

// The arguments of a call. The returning form has no destinations at first, and no offsets.
struct Call {
  const NNLossGradient& kernel;
  MTL::CommandBuffer& buffer;
  const ImageBatch &gradients, &sources, &labels, &weights;
  const StateBatch& states;
  Offset primary_offset, secondary_offset;

  std::vector<Role> roles(const ImageBatch* destinations) const {
    std::vector<Role> roles{
        {"sourceGradients", gradients}, {"sourceImages", sources}, {"labels", labels}};
    if (!weights.empty()) roles.push_back({"weights", weights});
    if (destinations != nullptr)
      roles.push_back(
          {.name = "destinationGradients", .images = *destinations, .destination = true});
    return roles;
  }
};

bool reduced(const NNLossGradient& kernel) {
  return kernel.reductionType() != CNNReductionType::None;
}

// An offset behind the last channel selects none.
std::size_t selected(std::size_t offset, std::size_t most, std::size_t channels) {
  return offset >= channels ? 0 : std::min(most, channels - offset);
}

std::size_t selected_channels(const NNLossGradient& k, std::size_t channels) {
  return selected(k.secondarySourceFeatureChannelOffset, k.secondarySourceFeatureChannelMaxCount,
                  channels);
}

std::size_t saturating_add(std::size_t a, std::size_t b) {
  std::size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

// With an explicit clip rectangle a destination of any size has room: what lies outside is clipped.
Extent needed_room(const NNLossGradient& k, const Extent& source) {
  const bool clipped = k.clipRect != RectNoClip;
  return {clipped ? 1 : source.width, clipped ? 1 : source.height,
          saturating_add(k.destinationFeatureChannelOffset, selected_channels(k, source.channels))};
}

void check_edge_mode(const char* name, ImageEdgeMode mode) {
  require(mode == ImageEdgeMode::Zero || mode == ImageEdgeMode::Clamp, ErrorCode::InvalidArgument,
          kName, ": ", name, " is ", static_cast<std::uint64_t>(mode),
          "; it must be Zero or Clamp");
}

void check_channels(const char* role, std::size_t offset, std::size_t channels) {
  require(offset % 4 == 0, ErrorCode::InvalidArgument, kName, ": ", role,
          "FeatureChannelOffset is ", offset, "; it must be a multiple of 4");
  require(offset < channels, ErrorCode::InvalidArgument, kName, ": ", role,
          "FeatureChannelOffset is ", offset, " of ", channels, " channels");
}

// A 1x1x1 gradient has neither channels nor places to choose from.
void check_channel_ranges(const NNLossGradient& k, const Extent& source) {
  require(k.destinationFeatureChannelOffset % 4 == 0, ErrorCode::InvalidArgument, kName,
          ": destinationFeatureChannelOffset is ", k.destinationFeatureChannelOffset,
          "; it must be a multiple of 4");
  if (!reduced(k))
    check_channels("primarySource", k.primarySourceFeatureChannelOffset, source.channels);
  check_channels("secondarySource", k.secondarySourceFeatureChannelOffset, source.channels);
  require(k.primarySourceFeatureChannelMaxCount > 0, ErrorCode::InvalidArgument, kName,
          ": primarySourceFeatureChannelMaxCount is 0");
  require(k.secondarySourceFeatureChannelMaxCount > 0, ErrorCode::InvalidArgument, kName,
          ": secondarySourceFeatureChannelMaxCount is 0");
  if (reduced(k)) return;
  const std::size_t primary = selected(k.primarySourceFeatureChannelOffset,
                                       k.primarySourceFeatureChannelMaxCount, source.channels);
  require(primary == selected_channels(k, source.channels), ErrorCode::InvalidArgument, kName, ": ",
          primary, " channels of the source gradient for ", selected_channels(k, source.channels),
          " channels of the source image");
}

void check_properties(const Call& call) {
  const NNLossGradient& k = call.kernel;
  check_channel_ranges(k, extent_of(*call.sources[0]));
  check_edge_mode("primaryEdgeMode", k.primaryEdgeMode);
  check_edge_mode("secondaryEdgeMode", k.secondaryEdgeMode);
  require(call.primary_offset.z == 0 && call.secondary_offset.z == 0, ErrorCode::Unsupported, kName,
          ": offsets in z are ", call.primary_offset.z, " and ", call.secondary_offset.z,
          "; only 0 is supported");
  const MTL::Region& clip = k.clipRect;
  require(clip.origin.z == 0 && (clip.size.depth == 1 || clip.size.depth == RectNoClip.size.depth),
          ErrorCode::Unsupported, kName, ": clipRect has origin.z ", clip.origin.z,
          " and size.depth ", clip.size.depth, "; only 0 and 1 are supported");
  require(k.primaryStrideInPixelsX == 1 && k.primaryStrideInPixelsY == 1 &&
              k.secondaryStrideInPixelsX == 1 && k.secondaryStrideInPixelsY == 1,
          ErrorCode::Unsupported, kName, ": a stride is not 1; losses have no strides");
}

// The values of every image: of its state, or else of the kernel.
std::vector<LossValues> values_of_images(const Call& call, const LossValues& own) {
  std::vector<LossValues> values(call.sources.size(), own);
  for (std::size_t i = 0; i < call.states.size(); ++i) {
    const auto* state = dynamic_cast<const LossGradientState*>(call.states[i].get());
    require(state != nullptr, ErrorCode::InvalidArgument, kName, ": sourceStates[", i,
            "] was not made by NNForwardLoss");
    values[i] = state->values;
    require(call.kernel.numberOfClasses() > 0 || !(values[i].labelSmoothing > 0) ||
                call.kernel.lossType() != CNNLossType::SoftMaxCrossEntropy,
            ErrorCode::InvalidArgument, kName, ": sourceStates[", i, "] has labelSmoothing ",
            values[i].labelSmoothing, ", but numberOfClasses is 0");
  }
  return values;
}

struct Checked {
  CommandBufferImpl& buffer;
  std::vector<LossValues> values;
};

Checked check(const Call& call, const ImageBatch* destinations, const LossValues& own) {
  const std::vector<Role> roles = call.roles(destinations);
  const States states{"sourceStates", call.states};
  const std::shared_ptr<MTL::Device> device = call.kernel.device();
  const EncodeChecks checks(kName, device);
  checks.present(roles, states);
  checks.not_empty(roles);
  checks.same_length(roles, states);
  checks.covers(roles[2], call.sources);
  if (!call.weights.empty()) checks.covers(roles[3], call.sources);
  for (std::size_t i = 0; i < call.sources.size(); ++i)
    checks.has_size(roles[0], i,
                    reduced(call.kernel) ? Extent{1, 1, 1} : extent_of(*call.sources[i]));
  if (destinations != nullptr)
    checks.has_room(roles.back(), needed_room(call.kernel, extent_of(*call.sources[0])));
  checks.uniform(roles);
  checks.destination_formats(roles);
  checks.disjoint(roles);
  CommandBufferImpl& buffer = checks.same_device(call.buffer, roles, states);
  checks.usable(buffer, roles, states);
  std::vector<LossValues> values = values_of_images(call, own);
  check_properties(call);
  return {buffer, std::move(values)};
}

GradientWindow window_of(const Call& call, const Image& destination) {
  const NNLossGradient& k = call.kernel;
  const Extent source = extent_of(*call.sources[0]), room = extent_of(destination);
  GradientWindow w{
      .width = source.width,
      .height = source.height,
      .destination_channel = k.destinationFeatureChannelOffset,
      .channels = selected_channels(k, source.channels),
      .source = {call.secondary_offset.x, call.secondary_offset.y,
                 k.secondarySourceFeatureChannelOffset,
                 k.secondaryEdgeMode == ImageEdgeMode::Clamp},
      .upstream = {call.primary_offset.x, call.primary_offset.y,
                   k.primarySourceFeatureChannelOffset, k.primaryEdgeMode == ImageEdgeMode::Clamp}};
  if (k.clipRect == RectNoClip) return w;
  const auto& [origin, size] = k.clipRect;
  w.x = std::min(origin.x, room.width);
  w.y = std::min(origin.y, room.height);
  w.width = std::min(size.width, room.width - w.x);
  w.height = std::min(size.height, room.height - w.y);
  return w;
}

void record(const Call& call, const ImageBatch& destinations, Checked checked,
            const LossFormula& formula) {
  LossWork work{.formula = formula,
                .label_gradients = call.kernel.computeLabelGradients(),
                .window = window_of(call, *destinations[0])};
  work.items.reserve(destinations.size());
  for (std::size_t i = 0; i < destinations.size(); ++i)
    work.items.push_back({.source = storage_of(call.sources[i]),
                          .labels = storage_of(call.labels[i]),
                          .weights = call.weights.empty() ? nullptr : storage_of(call.weights[i]),
                          .upstream = storage_of(call.gradients[i]),
                          .gradient = storage_of(destinations[i]),
                          .values = checked.values[i]});
  record_and_consume(checked.buffer, std::move(work), call.roles(&destinations), call.states);
}

}  // namespace

NNLossGradient::NNLossGradient(std::shared_ptr<MTL::Device> device, const CNNLossDescriptor& loss)
    : CNNBinaryKernel(std::move(device)), loss_(loss) {
  check_loss(loss_, kName);
}

std::shared_ptr<NNLossGradient> NNLossGradient::copy(std::shared_ptr<MTL::Device> to) const {
  auto copy = kernel_values<CNNBinaryKernelProperties>(*this, loss_)
                  .make<NNLossGradient>(to == nullptr ? device() : to);
  copy->label_gradients_ = label_gradients_;
  copy->policy_ = policy_;
  return copy;
}

void NNLossGradient::setWeight(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.weight = value; });
}
void NNLossGradient::setLabelSmoothing(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.labelSmoothing = value; });
}
void NNLossGradient::setEpsilon(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.epsilon = value; });
}
void NNLossGradient::setDelta(float value) {
  loss_ = changed_loss(loss_, kName, [&](auto& loss) { loss.delta = value; });
}

ImageBatch NNLossGradient::encodeBatch(MTL::CommandBuffer& buffer,
                                       const ImageBatch& sourceGradients,
                                       const ImageBatch& sourceImages, const ImageBatch& labels,
                                       const ImageBatch& weights,
                                       const StateBatch& sourceStates) const {
  const Call call{*this, buffer, sourceGradients, sourceImages, labels, weights, sourceStates,
                  {},    {}};
  check(call, nullptr, values_of(loss_));
  const ImageDescriptor descriptor =
      destinationImageDescriptor(*sourceGradients[0], *sourceImages[0]);
  ImageBatch results =
      allocate(destinationImageAllocator, buffer, descriptor, *this, sourceImages.size());
  record(call, results, check(call, &results, values_of(loss_)), formula_of(loss_, policy_));
  return results;
}

void NNLossGradient::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sourceGradients,
                                 const ImageBatch& sourceImages, const ImageBatch& labels,
                                 const ImageBatch& weights, const StateBatch& sourceStates,
                                 const ImageBatch& destinationGradients) const {
  const Call call{*this,   buffer,       sourceGradients, sourceImages,   labels,
                  weights, sourceStates, primaryOffset,   secondaryOffset};
  record(call, destinationGradients, check(call, &destinationGradients, values_of(loss_)),
         formula_of(loss_, policy_));
}

std::shared_ptr<Image> NNLossGradient::encode(MTL::CommandBuffer&, const std::shared_ptr<Image>&,
                                              const std::shared_ptr<Image>&) const {
  fail(ErrorCode::Unsupported, kName, "::encode: a loss needs labels; use encodeBatch");
}
void NNLossGradient::encode(MTL::CommandBuffer&, const std::shared_ptr<Image>&,
                            const std::shared_ptr<Image>&, const std::shared_ptr<Image>&) const {
  fail(ErrorCode::Unsupported, kName, "::encode: a loss needs labels; use encodeBatch");
}

ImageDescriptor NNLossGradient::destinationImageDescriptor(const Image& gradient,
                                                           const Image& source) const {
  return {.channelFormat = result_format({&gradient, &source}),
          .width = source.width(),
          .height = source.height(),
          .featureChannels = saturating_add(destinationFeatureChannelOffset,
                                            selected_channels(*this, source.featureChannels()))};
}

bool NNLossGradient::appendBatchBarrier() const {
  return combines_batch(reductionType(), reduceAcrossBatch());
}

std::string NNLossGradient::description() const {
  return describe(kName, *this, loss_);
}

std::vector<std::byte> NNLossGradient::encode() const {
  auto values = kernel_values<CNNBinaryKernelProperties>(*this, loss_);
  values.label_gradients = label_gradients_;
  return values.write(kArchiveName);
}

std::shared_ptr<NNLossGradient> NNLossGradient::decode(std::span<const std::byte> bytes,
                                                       std::shared_ptr<MTL::Device> device) {
  base_of(device, kName);
  LossKernelValues<CNNBinaryKernelProperties> values{.label_gradients = false};
  values.read(bytes, kArchiveName);
  auto kernel = values.make_read<NNLossGradient>(device);
  kernel->label_gradients_ = *values.label_gradients;
  return kernel;
}

}  // namespace bnns::MPS
