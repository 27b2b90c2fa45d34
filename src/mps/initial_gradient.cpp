// NNInitialGradient: images of ones.
#include "mps/checks.h"
#include "mps/error.h"
#include "mps/kernel.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kName = "NNInitialGradient";

std::vector<Role> roles_of(const ImageBatch& sources, const ImageBatch* destinations) {
  std::vector<Role> roles{{"sources", sources}};
  if (destinations != nullptr)
    roles.push_back({.name = "destinations", .images = *destinations, .destination = true});
  return roles;
}

CommandBufferImpl& check(const NNInitialGradient& kernel, MTL::CommandBuffer& buffer,
                         const ImageBatch& sources, const ImageBatch* destinations) {
  const std::vector<Role> roles = roles_of(sources, destinations);
  const StateBatch none;
  const States states{"states", none};
  const std::shared_ptr<MTL::Device> device = kernel.device();
  const EncodeChecks checks(kName, device);
  checks.present(roles, states);
  checks.not_empty(roles);
  checks.same_length(roles, states);
  if (destinations != nullptr) checks.has_room(roles.back(), extent_of(*sources[0]));
  checks.uniform(roles);
  checks.destination_formats(roles);
  checks.disjoint(roles);
  CommandBufferImpl& impl = checks.same_device(buffer, roles, states);
  checks.usable(impl, roles, states);
  checks.plain_properties(kernel, sources[0]->featureChannels());
  return impl;
}

void record(CommandBufferImpl& buffer, const ImageBatch& sources, const ImageBatch& destinations) {
  const Extent extent = extent_of(*sources[0]);
  OnesWork work{.width = extent.width, .height = extent.height, .channels = extent.channels};
  for (const auto& image : destinations) work.destinations.push_back(storage_of(image));
  record_and_consume(buffer, std::move(work), roles_of(sources, &destinations), {});
}

}  // namespace

NNInitialGradient::NNInitialGradient(std::shared_ptr<MTL::Device> device)
    : CNNKernel(std::move(device)) {}

std::shared_ptr<NNInitialGradient> NNInitialGradient::copy(std::shared_ptr<MTL::Device> to) const {
  auto copy = std::make_shared<NNInitialGradient>(to == nullptr ? device() : std::move(to));
  static_cast<CNNKernelProperties&>(*copy) = *this;
  copy->label = label;
  copy->options = options;
  return copy;
}

std::shared_ptr<Image> NNInitialGradient::encode(MTL::CommandBuffer& buffer,
                                                 const std::shared_ptr<Image>& source) const {
  return encodeBatch(buffer, ImageBatch{source})[0];
}
void NNInitialGradient::encode(MTL::CommandBuffer& buffer, const std::shared_ptr<Image>& source,
                               const std::shared_ptr<Image>& destination) const {
  encodeBatch(buffer, ImageBatch{source}, ImageBatch{destination});
}

ImageBatch NNInitialGradient::encodeBatch(MTL::CommandBuffer& buffer,
                                          const ImageBatch& sources) const {
  check(*this, buffer, sources, nullptr);
  const Image& first = *sources[0];
  ImageBatch results = allocate(destinationImageAllocator, buffer,
                                {.channelFormat = result_format({&first}),
                                 .width = first.width(),
                                 .height = first.height(),
                                 .featureChannels = first.featureChannels()},
                                *this, sources.size());
  record(check(*this, buffer, sources, &results), sources, results);
  return results;
}

void NNInitialGradient::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sources,
                                    const ImageBatch& destinations) const {
  record(check(*this, buffer, sources, &destinations), sources, destinations);
}

std::vector<std::byte> NNInitialGradient::encode() const {
  fail(ErrorCode::Unsupported, kName, "::encode: this kernel has no archive");
}

std::string NNInitialGradient::description() const {
  return describe(kName, *this, std::string());
}

}  // namespace bnns::MPS
