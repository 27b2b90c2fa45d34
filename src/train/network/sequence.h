// Stages one behind the other, with the memory between them.
#ifndef OPENBNNS_TRAIN_NETWORK_SEQUENCE_H
#define OPENBNNS_TRAIN_NETWORK_SEQUENCE_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/layers/kind.h"

namespace bnns::train::impl {

class Sequence final : public Stage {
 public:
  struct StageTime {
    std::string name;                  // "0 convolution, 1 batch_norm, 2 relu"
    double forward = 0, backward = 0;  // seconds of all passes
  };

  // Of `context` the parameters, the batch size and the filter parameters are used.
  Sequence(std::span<const ResolvedLayer> layers, const SampleShape& input,
           const StageContext& context);

  void forward(const Pass& pass, const Descriptor& in, const Descriptor& out) override;
  void backward(const Pass& pass, const Descriptor& in, const Descriptor& out,
                const Descriptor& out_delta, const std::optional<Descriptor>& in_delta) override;

  // Where the gradients of a stage's parameters lie in ParameterSet::gradients(); empty where it
  // has none. For a sequence that begins with the network's first layer.
  struct Segment {
    std::size_t begin = 0, end = 0;
  };
  std::vector<Segment> segments(const ParameterSet& parameters) const;
  // Is called after the backward pass of each stage, with its number.
  void set_after_backward(std::function<void(std::size_t)> call) {
    after_backward_ = std::move(call);
  }

  std::vector<StageTime> times() const;
  // The first stage of the last forward pass with an output that is not finite; `out` is that of
  // the last one. Empty if there is none.
  std::string first_not_finite(const Pass& pass, const Descriptor& out) const;

 private:
  struct Link {
    std::unique_ptr<Stage> stage;
    StageTime time;
    Shape input, output;
    bool trained;            // it has parameters that are trained
    std::size_t parameters;  // how many entries of the parameter set it has
  };
  Descriptor output_of(std::size_t k, const Descriptor& out) const;

  std::size_t batch_size_;
  std::vector<Link> links_;
  std::vector<Tensor> between_;  // behind every link but the last one
  std::vector<Tensor> deltas_;   // two, in turn
  std::function<void(std::size_t)> after_backward_;
};

}  // namespace bnns::train::impl

#endif
