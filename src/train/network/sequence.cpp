#include "train/network/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace bnns::train::impl {
namespace {

bool any_trained(const ResolvedLayer& layer) {
  const auto trained = [](const ParameterRule& rule) { return !rule.is_state; };
  return (!layer.frozen && std::ranges::any_of(layer.parameters, trained)) ||
         std::ranges::any_of(layer.inside, any_trained);
}

std::size_t parameters_of(std::span<const ResolvedLayer> layers) {
  std::size_t count = 0;
  for (const ResolvedLayer& layer : layers) {
    count += layer.parameters.size() + parameters_of(layer.inside);
  }
  return count;
}

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { stop(); }
  void stop() {
    if (running_) seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
    running_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_;
  bool running_ = true;
};

}  // namespace

Sequence::Sequence(std::span<const ResolvedLayer> layers, const SampleShape& input,
                   const StageContext& context)
    : batch_size_(context.batch_size) {
  Shape shape = impl::shape_of(input);
  for (std::size_t k = 0; k < layers.size();) {
    MadeStage made = layers[k].kind->make({.layers = layers.subspan(k),
                                           .parameters = context.parameters,
                                           .batch_size = context.batch_size,
                                           .filter_parameters = context.filter_parameters});
    const auto part = layers.subspan(k, made.layers);
    const Shape output = impl::shape_of(part.back().output);
    k += made.layers;
    if (!made.stage) continue;
    std::vector<std::string> names;
    for (const ResolvedLayer& layer : part) {
      names.push_back(fmt::format("{} {}", layer.path, layer.kind->name));
    }
    links_.push_back({.stage = std::move(made.stage),
                      .time = {.name = fmt::format("{}", fmt::join(names, ", "))},
                      .input = shape,
                      .output = output,
                      .trained = std::ranges::any_of(part, any_trained),
                      .parameters = parameters_of(part)});
    shape = output;
  }
  std::size_t largest = 1;
  for (std::size_t k = 0; k + 1 < links_.size(); ++k) {
    between_.push_back(Tensor(links_[k].output, batch_size_));
    largest = std::max(largest, links_[k].output.dense_count());
  }
  for (int k = 0; k < 2; ++k) {
    deltas_.push_back(Tensor::uninitialized(Shape::vector(largest), batch_size_));
  }
}

Descriptor Sequence::output_of(std::size_t k, const Descriptor& out) const {
  return k + 1 < links_.size() ? Descriptor(between_[k]) : out;
}

void Sequence::forward(const Pass& pass, const Descriptor& in, const Descriptor& out) {
  if (links_.empty()) {
    std::copy_n(static_cast<const float*>(in.data), pass.samples * bnns::shape_of(in).dense_count(),
                static_cast<float*>(out.data));
  }
  Descriptor current = in;
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const Stopwatch watch(links_[k].time.forward);
    const Descriptor next = output_of(k, out);
    links_[k].stage->forward(pass, current, next);
    current = next;
  }
}

void Sequence::backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                        const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) {
  if (links_.empty() && in_delta) {
    std::copy_n(static_cast<const float*>(out_delta.data),
                pass.samples * bnns::shape_of(out_delta).dense_count(),
                static_cast<float*>(in_delta->data));
  }
  // Below this link nothing is trained, and nobody asks for its gradient.
  std::size_t first = 0;
  while (!in_delta && first < links_.size() && !links_[first].trained) ++first;
  Descriptor delta = out_delta;
  for (std::size_t k = links_.size(); k-- > first;) {
    Stopwatch watch(links_[k].time.backward);
    std::optional<Descriptor> below;
    if (k > first) {
      below =
          Descriptor(make_descriptor(BNNSDataTypeFloat32, links_[k].input, deltas_[k % 2].data()),
                     batch_size_);
    } else if (k == 0) {
      below = in_delta;
    }
    links_[k].stage->backward(pass, k == 0 ? in : Descriptor(between_[k - 1]), output_of(k, out),
                              delta, below);
    if (below) delta = *below;
    watch.stop();
    if (after_backward_) after_backward_(k);
  }
}

std::vector<Sequence::Segment> Sequence::segments(const ParameterSet& parameters) const {
  std::vector<Segment> segments;
  std::size_t end = 0;
  auto entry = parameters.entries().begin();
  for (const Link& link : links_) {
    const std::size_t begin = end;
    for (std::size_t k = 0; k < link.parameters; ++k, ++entry) {
      if (!entry->rule.is_state) end = entry->offset + entry->count;
    }
    segments.push_back({begin, end});
  }
  return segments;
}

std::vector<Sequence::StageTime> Sequence::times() const {
  std::vector<StageTime> times;
  for (const Link& link : links_) times.push_back(link.time);
  return times;
}

std::string Sequence::first_not_finite(const Pass& pass, const Descriptor& out) const {
  for (std::size_t k = 0; k < links_.size(); ++k) {
    const std::span<const float> values(static_cast<const float*>(output_of(k, out).data),
                                        pass.samples * links_[k].output.dense_count());
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
      return links_[k].time.name;
    }
  }
  return "";
}

}  // namespace bnns::train::impl
