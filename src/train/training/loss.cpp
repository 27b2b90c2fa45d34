#include "train/training/loss.h"

#include <algorithm>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

Loss kind_of(const DataDescription& data, const TrainingOptions& options) {
  if (options.loss != Loss::automatic) return options.loss;
  return data.task == Task::classification ? Loss::softmax_cross_entropy : Loss::mean_square_error;
}

struct Row {
  Loss kind;
  bool per_sample;  // one entry per sample; else one per number
  bool smooths;
  LossFunction (*make)(const TrainingOptions&);
};

constexpr Row kRows[] = {
    {Loss::softmax_cross_entropy, true, true,
     [](const TrainingOptions& o) -> LossFunction {
       return loss::SoftmaxCrossEntropy{static_cast<float>(o.label_smoothing)};
     }},
    {Loss::sigmoid_cross_entropy, false, true,
     [](const TrainingOptions& o) -> LossFunction {
       return loss::SigmoidCrossEntropy{static_cast<float>(o.label_smoothing)};
     }},
    {Loss::categorical_cross_entropy, true, false,
     [](const TrainingOptions&) -> LossFunction { return loss::CategoricalCrossEntropy{}; }},
    {Loss::mean_square_error, false, false,
     [](const TrainingOptions&) -> LossFunction { return loss::MeanSquareError{}; }},
    {Loss::mean_absolute_error, false, false,
     [](const TrainingOptions&) -> LossFunction { return loss::MeanAbsoluteError{}; }},
    {Loss::huber, false, false,
     [](const TrainingOptions& o) -> LossFunction {
       return loss::Huber{static_cast<float>(o.huber_delta)};
     }},
    {Loss::hinge, false, false,
     [](const TrainingOptions&) -> LossFunction { return loss::Hinge{}; }},
    {Loss::log, false, false, [](const TrainingOptions&) -> LossFunction { return loss::Log{}; }},
    {Loss::cosine_distance, true, false,
     [](const TrainingOptions&) -> LossFunction { return loss::CosineDistance{}; }},
};

const Row& row_of(const DataDescription& data, const TrainingOptions& options) {
  const Row& row = *std::ranges::find(kRows, kind_of(data, options), &Row::kind);
  if (options.label_smoothing != 0 && !row.smooths) {
    throw Error(Error::Kind::usage, "label_smoothing",
                "only softmax and sigmoid cross entropy have it");
  }
  return row;
}

}  // namespace

ShardLoss::ShardLoss(const DataDescription& data, const TrainingOptions& options,
                     std::size_t outputs, std::size_t batch_size)
    : task_(data.task),
      entries_(row_of(data, options).per_sample ? 1 : static_cast<double>(outputs)),
      labels_(Shape::vector(outputs), batch_size),
      weights_(Shape::vector(batch_size * (entries_ == 1 ? 1 : outputs))),
      sum_(Shape::vector(1)),
      layer_({.input = Shape::vector(outputs),
              .output = sum_,
              .loss_function = row_of(data, options).make(options),
              .loss_reduction = LossReduction::sum,
              .filter_parameters = {.thread_count = options.threads}}) {}

double ShardLoss::apply(std::size_t samples, const Tensor& scores, std::span<const float> targets,
                        Tensor* delta) {
  const std::size_t outputs = labels_.shape().dense_count();
  if (task_ == Task::classification) {
    std::fill_n(labels_.data(), samples * outputs, 0.0f);
    for (std::size_t n = 0; n < samples; ++n) {
      labels_.sample(n)[static_cast<std::size_t>(targets[n])] = 1;
    }
  } else {
    std::ranges::copy(targets.first(samples * outputs), labels_.data());
  }
  const Descriptor described(
      make_descriptor(BNNSDataTypeFloat32, labels_.shape(), const_cast<float*>(scores.data())),
      scores.batch_size());
  LossArguments arguments = {.input = described, .labels = labels_, .output = sum_};
  if (!class_weights_.empty()) {
    const std::size_t per_sample = entries_ == 1 ? 1 : outputs;
    for (std::size_t n = 0; n < samples; ++n) {
      std::fill_n(weights_.data() + n * per_sample, per_sample,
                  class_weights_[static_cast<std::size_t>(targets[n])]);
    }
    arguments.weights =
        make_descriptor(BNNSDataTypeFloat32, Shape::vector(samples * per_sample), weights_.data());
  }
  if (delta) {
    arguments.input_gradient = Descriptor(
        make_descriptor(BNNSDataTypeFloat32, labels_.shape(), delta->data()), delta->batch_size());
  }
  layer_.apply(samples, arguments);
  return sum_[0];
}

std::size_t count_right(std::size_t samples, const Tensor& scores, std::span<const float> targets) {
  std::size_t right = 0;
  for (std::size_t n = 0; n < samples; ++n) {
    const auto row = scores.sample(n);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    right += best == static_cast<std::size_t>(targets[n]);
  }
  return right;
}

}  // namespace bnns::train::impl
