#include "mps/one_shot.h"

#include "mps/error.h"
#include "mps/kernel.h"

namespace bnns::impl::mps {

OneShotCall::OneShotCall(const char* name, const MPS::CNNKernel& kernel,
                         MPS::CNNReductionType reduction, MTL::CommandBuffer& buffer,
                         const ImageBatch& sources, const MPS::CNNLossLabelsBatch& labels)
    : name_(name),
      kernel_(kernel),
      reduction_(reduction),
      buffer_(buffer),
      sources_(sources),
      states_(labels.begin(), labels.end()) {
  for (const auto& state : labels) {
    labels_.push_back(state == nullptr ? nullptr : state->labelsImage());
    weights_.push_back(state == nullptr ? nullptr : state->weightsImage());
    losses_.push_back(state == nullptr ? nullptr : state->lossImage());
  }
}

std::vector<Role> OneShotCall::roles(const ImageBatch* destinations) const {
  std::vector<Role> roles{{"sources", sources_},
                          {"labels", labels_},
                          {.name = "weights", .images = weights_, .may_be_null = true},
                          {.name = "lossImages", .images = losses_, .destination = true}};
  if (destinations != nullptr)
    roles.push_back({.name = "destinations", .images = *destinations, .destination = true});
  return roles;
}

CommandBufferImpl& OneShotCall::check(const ImageBatch* destinations, size_t channels) const {
  const std::vector<Role> all = roles(destinations);
  const States states{"labels", states_};
  const std::shared_ptr<MTL::Device> device = kernel_.device();
  const EncodeChecks checks(name_, device);
  checks.present(all, states);
  checks.not_empty(all);
  checks.same_length(all, states);
  checks.covers(all[1], sources_);
  checks.covers(all[2], sources_);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Extent source = extent_of(*sources_[i]);
    if (channels != 0) checks.has_size(all[0], i, {source.width, source.height, channels});
    checks.has_size(all[3], i,
                    reduction_ == MPS::CNNReductionType::None ? source : Extent{1, 1, 1});
  }
  if (destinations != nullptr) checks.has_room(all.back(), extent_of(*sources_[0]));
  checks.uniform(all);
  checks.destination_formats(all);
  checks.disjoint(all);
  CommandBufferImpl& buffer = checks.same_device(buffer_, all, states);
  checks.usable(buffer, all, states);
  checks.plain_properties(kernel_, sources_[0]->featureChannels());
  return buffer;
}

ImageBatch OneShotCall::allocate_results() const {
  const MPS::Image& first = *sources_[0];
  return allocate(kernel_.destinationImageAllocator, buffer_,
                  {.channelFormat = result_format({&first}),
                   .width = first.width(),
                   .height = first.height(),
                   .featureChannels = first.featureChannels()},
                  kernel_, sources_.size());
}

std::vector<LossItem> OneShotCall::items(const ImageBatch& destinations,
                                         const LossValues& values) const {
  std::vector<LossItem> items;
  for (size_t i = 0; i < sources_.size(); ++i)
    items.push_back({.source = storage_of(sources_[i]),
                     .labels = storage_of(labels_[i]),
                     .weights = storage_of(weights_[i]),
                     .loss = storage_of(losses_[i]),
                     .gradient = storage_of(destinations[i]),
                     .values = values});
  return items;
}

void OneShotCall::record(CommandBufferImpl& buffer, Work work,
                         const ImageBatch& destinations) const {
  record_and_consume(buffer, std::move(work), roles(&destinations), states_);
}

}  // namespace bnns::impl::mps
