// Loss filters: the loss of predictions against labels of the same shape, with its gradient in the
// same call or, from an upstream gradient, in a call of its own. in and labels are laid out as
// i_desc; out holds the entries of the loss one after the other, or one reduced value.
#include "layers/loss.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "core/call.h"
#include "core/checked.h"
#include "core/filter.h"
#include "ops/loss/loss.h"
#include "ops/loss/yolo.h"

namespace bnns::impl {
namespace {

struct LossParameters {
  Descriptor in, out;
  LossProblem loss;
  YoloProblem yolo;
  const float* anchor_sizes = nullptr;

  bool is_yolo() const { return loss.info->family == LossFamily::kYolo; }
};

void require_finite(float value, const char* field) {
  require(std::isfinite(value), field, " is ", double{value}, "; it must be finite");
}

// ---- The five structures ----

void read_smoothing(float smooth, LossParameters& problem) {
  require(smooth >= 0 && smooth <= 1, "label_smooth is ", double{smooth},
          "; it must be between 0 and 1");
  const bool softmax = problem.loss.info->family == LossFamily::kSample;
  const size_t classes = softmax ? problem.in.size[0] : 2;
  problem.loss.parameters.keep = 1 - smooth;
  problem.loss.parameters.added = static_cast<float>(smooth / static_cast<double>(classes));
}

void read_extra(const BNNSLayerParametersLossBase&, LossParameters&) {}

void read_extra(const BNNSLayerParametersLossSoftmaxCrossEntropy& p, LossParameters& problem) {
  read_smoothing(p.label_smooth, problem);
}

void read_extra(const BNNSLayerParametersLossSigmoidCrossEntropy& p, LossParameters& problem) {
  read_smoothing(p.label_smooth, problem);
}

void read_extra(const BNNSLayerParametersLossHuber& p, LossParameters& problem) {
  require_finite(p.huber_delta, "huber_delta");
  require(p.huber_delta > 0, "huber_delta is ", double{p.huber_delta}, "; it must be above 0");
  problem.loss.parameters.delta = p.huber_delta;
}

void check_yolo_grid(const BNNSLayerParametersLossYolo& p, LossParameters& problem) {
  const char* field = "the number of values of a sample";
  require(p.number_of_grid_columns > 0, "number_of_grid_columns is 0; it must be at least 1");
  require(p.number_of_grid_rows > 0, "number_of_grid_rows is 0; it must be at least 1");
  require(p.number_of_anchor_boxes > 0, "number_of_anchor_boxes is 0; it must be at least 1");
  require(p.anchor_box_size >= 5, "anchor_box_size is ", p.anchor_box_size,
          "; it must be 5 and the number of classes");
  YoloProblem& yolo = problem.yolo;
  yolo.cells = checked_mul(p.number_of_grid_columns, p.number_of_grid_rows, field);
  yolo.anchors = p.number_of_anchor_boxes;
  yolo.box = p.anchor_box_size;
  const size_t values = checked_mul(checked_mul(yolo.cells, yolo.anchors, field), yolo.box, field);
  require(values == problem.in.view.count, "i_desc has ", problem.in.view.count,
          " elements, but rows * columns * anchors * anchor_box_size is ", values,
          "; they must be equal");
  require(problem.in.view.is_dense(), "i_desc is not contiguous; the YOLO loss needs that");
  require_data(p.anchors_data, BNNSDataTypeFloat32, "anchors_data");
  for (size_t i = 0; i < 2 * yolo.anchors; ++i) {
    const float size = p.anchors_data[i];
    require(std::isfinite(size) && size > 0, "anchors_data[", i, "] is ", double{size},
            "; it must be finite and above 0");
  }
  problem.anchor_sizes = p.anchors_data;
}

void read_extra(const BNNSLayerParametersLossYolo& p, LossParameters& problem) {
  require(problem.loss.reduction == BNNSLossReductionSum, "reduction is ",
          static_cast<uint32_t>(p.reduction), "; the YOLO loss needs BNNSLossReductionSum (",
          static_cast<uint32_t>(BNNSLossReductionSum), ")");
  require_finite(p.huber_delta, "huber_delta");
  require(p.huber_delta >= 0, "huber_delta is ", double{p.huber_delta},
          "; it must not be negative");
  check_yolo_grid(p, problem);
  YoloProblem& yolo = problem.yolo;
  yolo.rescore = p.rescore;
  yolo.huber_delta = p.huber_delta == 0 ? 1 : p.huber_delta;
  const struct {
    float value;
    const char* field;
    float* to;
  } scalars[] = {
      {p.scale_xy, "scale_xy", &yolo.scale_xy},
      {p.scale_wh, "scale_wh", &yolo.scale_wh},
      {p.scale_object, "scale_object", &yolo.scale_object},
      {p.scale_no_object, "scale_no_object", &yolo.scale_no_object},
      {p.scale_classification, "scale_classification", &yolo.scale_classification},
      {p.object_minimum_iou, "object_minimum_iou", &yolo.object_minimum_iou},
      {p.no_object_maximum_iou, "no_object_maximum_iou", &yolo.no_object_maximum_iou},
  };
  for (const auto& scalar : scalars) {
    require_finite(scalar.value, scalar.field);
    *scalar.to = scalar.value;
  }
}

void check_descriptors(LossParameters& problem) {
  const auto check = [](const Descriptor& d, const char* field) {
    require_plain_layout(d, field);
    require(d.view.is_float(), field, ".data_type is ", d.type->name, "; losses are Float32");
  };
  check(problem.in, "i_desc");
  check(problem.out, "o_desc");
  if (problem.loss.reduced() && problem.out.view.count != 1) {
    fail("o_desc is ", describe(problem.out), "; a reduced loss is one value");
  }
}

// Rows of softmax-type losses run along size[0], which need not be the fastest axis in memory.
void set_rows(LossParameters& problem) {
  LossProblem& loss = problem.loss;
  loss.sample = problem.in.view;
  loss.row_length = loss.info->along_axis ? problem.in.size[0] : problem.in.view.count;
  for (size_t k = 0; loss.info->along_axis && problem.in.layout->pair[k] != 0; ++k)
    loss.row_step *= problem.in.view.extent[k];
}

template <class Parameters>
void read_as(const void* parameters, LossParameters& problem) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  require(static_cast<uint32_t>(p.reduction) <= BNNSLossReductionNonZeroWeightMean, "reduction is ",
          static_cast<uint32_t>(p.reduction), "; that is no BNNSLossReductionFunction");
  problem.loss.reduction = p.reduction;
  problem.in = read_descriptor(p.i_desc, "i_desc", Use::kInput);
  problem.out = read_descriptor(p.o_desc, "o_desc", Use::kOutput);
  check_descriptors(problem);
  set_rows(problem);
  read_extra(p, problem);
}

// The readers by function value. All structures begin with the function.
using Reader = void (*)(const void* parameters, LossParameters& problem);
constexpr Reader kReaders[kLossFunctions] = {
    nullptr,
    read_as<BNNSLayerParametersLossSoftmaxCrossEntropy>,
    read_as<BNNSLayerParametersLossSigmoidCrossEntropy>,
    read_as<BNNSLayerParametersLossBase>,
    read_as<BNNSLayerParametersLossHuber>,
    read_as<BNNSLayerParametersLossYolo>,
    read_as<BNNSLayerParametersLossBase>,
    read_as<BNNSLayerParametersLossBase>,
    read_as<BNNSLayerParametersLossBase>,
    read_as<BNNSLayerParametersLossBase>,
    read_as<BNNSLayerParametersLossBase>,
};

LossParameters read(const void* parameters) {
  require(parameters != nullptr, "layer_params is NULL");
  BNNSLossFunction function;
  std::memcpy(&function, parameters, sizeof function);
  LossParameters problem;
  problem.loss.info = find_loss(function);
  require(problem.loss.info != nullptr, "function is ", static_cast<uint32_t>(function),
          "; that is no BNNSLossFunction");
  kReaders[function](parameters, problem);
  return problem;
}

// ---- Calls ----

constexpr Name kLabels = {"labels", "labels_stride"};

// The range of `count` contiguous floats.
Range range_of(const void* data, size_t count) {
  const auto* begin = static_cast<const char*>(data);
  return {begin, begin + count * sizeof(float)};
}

class LossFilter final : public Filter, public LossCalls {
 public:
  LossFilter(const FilterOptions& options, const LossParameters& problem);

  void apply_loss(const LossForwardArgs& args) override;
  void apply_loss_backward(const LossBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    static constexpr const char* kReductions[] = {"not reduced", "sum", "weighted mean", "mean",
                                                  "mean of nonzero weights"};
    return Text(problem_.loss.info->name, ", ", kReductions[problem_.loss.reduction], ", ",
                describe(problem_.in));
  }

 private:
  LossTensors read_inputs(const LossInputs& args, Call& call) const;
  void read_weights(const LossInputs& args, Call& call, LossTensors& result) const;
  Gradient read_in_delta(const LossInputs& args, Call& call) const;
  Batch read_out_delta(const LossBackwardArgs& args, Descriptor& dy) const;
  void run(const LossTensors& tensors);

  LossParameters problem_;
  std::optional<LossOp> loss_;
  std::optional<YoloOp> yolo_;
};

LossFilter::LossFilter(const FilterOptions& options, const LossParameters& problem)
    : Filter("a loss filter", options), problem_(problem) {
  if (problem.is_yolo()) {
    yolo_.emplace(options.memory, options.threads, problem.yolo, problem.anchor_sizes);
  } else {
    loss_.emplace(options.memory, options.threads, problem.loss);
  }
  problem_.anchor_sizes = nullptr;
}

void LossFilter::read_weights(const LossInputs& args, Call& call, LossTensors& result) const {
  const size_t size = args.weights_size;
  if (size == 0) return;
  require(!problem_.is_yolo(), "weights_size is ", size, "; the YOLO loss has no weights");
  const size_t all = checked_mul(args.batch, problem_.in.view.count, "batch_size");
  require(size == 1 || size == args.batch || size == all, "weights_size is ", size,
          "; it must be 0, 1, batch_size (", args.batch,
          ") or batch_size times the elements of i_desc (", all, ")");
  require_data(args.weights, BNNSDataTypeFloat32, "weights");
  result.weights = static_cast<const float*>(args.weights);
  result.weights_size = size;
  call.reads(range_of(args.weights, size), "weights");
}

LossTensors LossFilter::read_inputs(const LossInputs& args, Call& call) const {
  const View& sample = problem_.in.view;
  LossTensors result;
  result.in = call.reads(sample, args.in, args.in_stride, kIn);
  result.labels = call.reads(sample, args.labels, args.labels_stride, kLabels);
  read_weights(args, call, result);
  return result;
}

Gradient LossFilter::read_in_delta(const LossInputs& args, Call& call) const {
  return call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, problem_.in, "i_desc");
}

// Reads the upstream gradient: one value for a reduced loss, otherwise one per entry of the batch.
// The descriptor describes one sample, or the whole batch. The result points to the view in `dy`.
Batch LossFilter::read_out_delta(const LossBackwardArgs& args, Descriptor& dy) const {
  require(args.out_delta != nullptr, "out_delta is NULL");
  const size_t n = problem_.in.view.count, batch = args.inputs.batch;
  dy = read_descriptor(*args.out_delta, "out_delta", Use::kInput);
  require_plain_layout(dy, "out_delta");
  require(dy.view.is_float(), "out_delta.data_type is ", dy.type->name, "; gradients are Float32");
  require_data(dy.view.data, BNNSDataTypeFloat32, "out_delta.data");
  const size_t count = dy.view.count;
  if (problem_.loss.reduced()) {
    if (count != 1) fail("out_delta is ", describe(dy), "; a reduced loss is one value");
    return make_batch(dy.view, dy.view.data, 1, 0);
  }
  if (problem_.loss.info->family == LossFamily::kElement) {
    if (count != n && batch > 1 && count == checked_mul(batch, n, "batch_size"))
      return make_batch(dy.view, dy.view.data, 1, 0);
    if (count != n) {
      fail("out_delta is ", describe(dy), ", but i_desc is ", describe(problem_.in),
           "; they must have the same number of elements");
    }
    return read_batch(dy.view, batch, dy.view.data, args.out_delta_stride, kOutDelta);
  }
  if (count != 1 && count != batch && count != problem_.out.view.count) {
    fail("out_delta is ", describe(dy), "; the loss has one value per sample: it must have 1, ",
         "batch_size (", batch, ") or as many elements as o_desc");
  }
  // Each sample has one value. Those of a packed batch are the first ones of the descriptor, in the
  // order of memory; a descriptor of one value has its own packed step.
  if (count != 1) {
    const View values = collapsed(dy.view);
    require(args.out_delta_stride != 0 || values.rank == 1 || batch <= values.extent[0],
            "out_delta is ", describe(dy), " with gaps between its rows; the values of ", batch,
            " samples must lie at equal distances");
    dy.view.step = values.stride[0];
  }
  dy.view.rank = 0;
  dy.view.count = dy.view.span = 1;
  return read_batch(dy.view, batch, dy.view.data, args.out_delta_stride, kOutDelta);
}

void LossFilter::apply_loss(const LossForwardArgs& args) {
  const size_t batch = args.inputs.batch;
  if (batch == 0) return;
  Call call(batch);
  LossTensors loss = read_inputs(args.inputs, call);
  require_data(args.out, BNNSDataTypeFloat32, "out");
  loss.out = static_cast<float*>(args.out);
  const size_t entries = problem_.loss.reduced() ? 1 : problem_.loss.entries(batch);
  call.writes(range_of(args.out, entries), "out");
  if (is_wanted(args.inputs.in_delta)) loss.in_delta = read_in_delta(args.inputs, call);
  call.check_overlaps();
  run(loss);
}

void LossFilter::apply_loss_backward(const LossBackwardArgs& args) {
  require(args.inputs.in_delta != nullptr, "in_delta is NULL");
  if (args.inputs.batch == 0 || !is_wanted(args.inputs.in_delta)) return;
  Call call(args.inputs.batch);
  LossTensors loss = read_inputs(args.inputs, call);
  loss.in_delta = read_in_delta(args.inputs, call);
  Descriptor dy;
  const Batch upstream = read_out_delta(args, dy);
  call.reads(range_of(upstream), "out_delta");
  call.check_overlaps();
  if (problem_.loss.reduced()) {
    loss.upstream = *upstream.at<const float>(0);
  } else {
    loss.out_delta = upstream;
  }
  run(loss);
}

void LossFilter::run(const LossTensors& tensors) {
  if (yolo_) return yolo_->run(tensors);
  loss_->run(tensors);
}

void LossFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  if (loss_) loss_->reserve(callers);
}

}  // namespace

BNNSFilter make_loss_filter(const void* parameters, const BNNSFilterParameters* filter_parameters) {
  const LossParameters problem = read(parameters);
  return make_filter<LossFilter>(FilterOptions(filter_parameters), problem);
}

}  // namespace bnns::impl
