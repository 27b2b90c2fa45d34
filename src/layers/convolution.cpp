// The convolution filters: y = act(b + W x) with W the windows of a convolution, or its transpose.
// Images are ImageCHW; weights have any of the four layouts of convolution weights.
#include "layers/convolution.h"

#include <atomic>

#include "core/filter.h"
#include "layers/activation.h"
#include "layers/convolution_problem.h"
#include "ops/convolution/convolution.h"

namespace bnns::impl {
namespace {

ConvolutionProblem describe_problem(const ConvolutionDescription& c,
                                    const BNNSActivation& activation) {
  return {.geometry = c.geometry,
          .transposed = c.transposed,
          .in = c.in.view,
          .out = c.out.view,
          .has_bias = c.has_bias,
          .activation = {.element = ElementActivation(*c.activation, parameters_of(activation)),
                         .kind = c.activation->kind}};
}

std::atomic<uint64_t> next_stream{uint64_t{3} << 30};

class ConvolutionFilter final : public Filter {
 public:
  ConvolutionFilter(const FilterOptions& options, const ConvolutionDescription& convolution,
                    const BNNSActivation& activation);

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override;

 private:
  void check_trainable(const BackwardArgs& args, bool want_weights) const;
  void read_output_delta(const BackwardArgs& args, ConvolutionOp::Gradients& g) const;
  void read_deltas(const BackwardArgs& args, bool want_x, bool want_w, bool want_b,
                   ConvolutionOp::Gradients& g) const;
  void check_overlaps(const BackwardArgs& args, const ConvolutionOp::Gradients& g) const;
  bool is_identity() const {
    return convolution_.activation->function == BNNSActivationFunctionIdentity;
  }

  ConvolutionDescription convolution_;
  ConvolutionOp op_;
  std::atomic<uint64_t> stream_;
  bool use_client_pointer_;
};

ConvolutionFilter::ConvolutionFilter(const FilterOptions& options,
                                     const ConvolutionDescription& convolution,
                                     const BNNSActivation& activation)
    : Filter(convolution.transposed ? "a transposed convolution filter" : "a convolution filter",
             options),
      convolution_(convolution),
      op_(options.memory, options.threads, describe_problem(convolution, activation)),
      stream_(next_stream.fetch_add(1, std::memory_order_relaxed) << 32),
      use_client_pointer_(options.use_client_pointer) {
  const ConvolutionOp::Parameters parameters = {
      .weights = map_weights(convolution.weights, convolution.transposed),
      .bias = convolution.bias.view};
  if (options.use_client_pointer) {
    op_.use_parameters(parameters);
  } else {
    op_.own_parameters(parameters);
  }
}

Text ConvolutionFilter::plan() const {
  const ConvolutionGeometry& g = convolution_.geometry;
  Text text(convolution_.in.size[2], " to ", convolution_.out.size[2], " channels, kernel ");
  text.add(Text(g.x.taps, "x", g.y.taps, ", ", g.groups, g.groups == 1 ? " group, " : " groups, ",
                convolution_.activation->name, ", ", convolution_.weights.type->name, " weights ",
                use_client_pointer_ ? "of the client, " : "copied, ", op_.bytes_per_thread(),
                " bytes of buffer a thread"));
  return text;
}

void ConvolutionFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  check_forward(args, convolution_, use_client_pointer_);
  const View &in = convolution_.in.view, &out = convolution_.out.view;
  const ActivationRow& row = *convolution_.activation;
  const bool random = row.uses_alpha &&
                      (row.kind == ActivationClass::kRandom || row.kind == ActivationClass::kAxis);
  // Streams of one filter are 2^32 apart from those of the next.
  const uint64_t stream =
      random ? stream_.fetch_add(args.batch, std::memory_order_relaxed) : uint64_t{0};
  op_.forward(args.batch, {.one = in, .data = args.in, .stride = args.in_stride},
              {.one = out, .data = args.out, .stride = args.out_stride}, stream);
}

void ConvolutionFilter::check_trainable(const BackwardArgs& args, bool want_weights) const {
  const auto require_float = [](const Descriptor& d, const char* field) {
    require(d.view.is_float(), field, ".data_type is ", d.type->name, "; training needs Float32");
  };
  require_float(convolution_.in, "i_desc");
  require_float(convolution_.weights, "w_desc");
  require_float(convolution_.out, "o_desc");
  if (convolution_.has_bias) require_float(convolution_.bias, "bias");
  require(args.out_delta != nullptr, "out_delta is NULL");
  const ActivationRow& row = *convolution_.activation;
  if (want_weights) require_data(args.in, BNNSDataTypeFloat32, "in");
  if (is_identity()) return;
  require(row.from_output, "activation is ", row.name,
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require(op_.slope_known(), "activation is ", row.name, " with alpha ",
          double{op_.activation().parameters().alpha},
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require_data(args.out, BNNSDataTypeFloat32, "out");
}

// A delta of an image, in the same layout as the image.
Descriptor read_image_delta(const BNNSNDArrayDescriptor& given, const char* field,
                            const Descriptor& frozen, const char* frozen_field, Use use) {
  const Descriptor delta = read_delta(given, field, frozen, frozen_field, use);
  require(delta.layout == frozen.layout, field, ".layout is ", delta.layout->name, ", ",
          frozen_field, ".layout is ", frozen.layout->name, "; they must be equal");
  return delta;
}

void ConvolutionFilter::read_output_delta(const BackwardArgs& args,
                                          ConvolutionOp::Gradients& g) const {
  const Descriptor dy =
      read_image_delta(*args.out_delta, "out_delta", convolution_.out, "o_desc", Use::kInput);
  require_batch(dy.view, args.batch, args.out_delta_stride, "out_delta_stride");
  g.dy = {.one = dy.view, .data = dy.view.data, .stride = args.out_delta_stride};
  if (is_identity()) return;
  require_batch(convolution_.out.view, args.batch, args.out_stride, "out_stride");
  g.out = {.one = convolution_.out.view, .data = args.out, .stride = args.out_stride};
}

void ConvolutionFilter::read_deltas(const BackwardArgs& args, bool want_x, bool want_w, bool want_b,
                                    ConvolutionOp::Gradients& g) const {
  if (want_x) {
    const Descriptor dx =
        read_image_delta(*args.in_delta, "in_delta", convolution_.in, "i_desc", Use::kOutput);
    require_batch(dx.view, args.batch, args.in_delta_stride, "in_delta_stride");
    g.dx = {.one = dx.view, .data = dx.view.data, .stride = args.in_delta_stride};
    g.dx_accumulate = dx.accumulate;
  }
  if (want_w) {
    require_batch(convolution_.in.view, args.batch, args.in_stride, "in_stride");
    g.in = {.one = convolution_.in.view, .data = args.in, .stride = args.in_stride};
    const Descriptor dw = read_weights_delta(*args.weights_delta, convolution_);
    g.dw = map_weights(dw, convolution_.transposed);
    g.dw_accumulate = dw.accumulate;
  }
  if (want_b) {
    require(convolution_.has_bias, "bias_delta is given; the filter has no bias");
    const Descriptor db =
        read_delta(*args.bias_delta, "bias_delta", convolution_.bias, "bias", Use::kOutput);
    g.db = db.view;
    g.db_accumulate = db.accumulate;
  }
}

// What is written must not overlap anything else: inputs would change under the computation.
void ConvolutionFilter::check_overlaps(const BackwardArgs& args,
                                       const ConvolutionOp::Gradients& g) const {
  struct Named {
    Range range;
    const char* name;
  };
  const auto images = [&](const ImageBatch& i) {
    return range_of(i.one, i.data, args.batch, i.stride);
  };
  Named written[3], read[4];
  size_t writes = 0, reads = 0;
  if (g.dx.data != nullptr) written[writes++] = {images(g.dx), "in_delta"};
  if (g.dw.view.data != nullptr)
    written[writes++] = {range_of(g.dw.view, g.dw.view.data, 1, 0), "weights_delta"};
  if (g.db.data != nullptr) written[writes++] = {range_of(g.db, g.db.data, 1, 0), "bias_delta"};
  read[reads++] = {images(g.dy), "out_delta"};
  if (g.in.data != nullptr) read[reads++] = {images(g.in), "in"};
  if (g.out.data != nullptr) read[reads++] = {images(g.out), "out"};
  const View& weights = convolution_.weights.view;
  if (op_.uses_client_weights() && g.dx.data != nullptr)
    read[reads++] = {range_of(weights, weights.data, 1, 0), "w_desc.data"};
  for (size_t w = 0; w < writes; ++w) {
    for (size_t r = 0; r < reads; ++r)
      require_apart(written[w].range, written[w].name, read[r].range, read[r].name);
    for (size_t o = w + 1; o < writes; ++o)
      require_apart(written[w].range, written[w].name, written[o].range, written[o].name);
  }
}

void ConvolutionFilter::apply_backward(const BackwardArgs& args) {
  const auto wanted = [](const BNNSNDArrayDescriptor* d) {
    return d != nullptr && d->data != nullptr;
  };
  const bool want_x = wanted(args.in_delta), want_w = wanted(args.weights_delta),
             want_b = wanted(args.bias_delta);
  if (!want_x && !want_w && !want_b) return;
  check_trainable(args, want_w);
  if (args.batch == 0) return;
  ConvolutionOp::Gradients gradients = {};
  read_output_delta(args, gradients);
  read_deltas(args, want_x, want_w, want_b, gradients);
  check_overlaps(args, gradients);
  op_.backward(args.batch, gradients);
}

void ConvolutionFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  op_.reserve(callers);
}

}  // namespace

BNNSFilter make_convolution_filter(const BNNSLayerParametersConvolution* parameters,
                                   const BNNSFilterParameters* filter_parameters, bool transposed) {
  const ConvolutionDescription convolution = read_convolution(parameters, transposed);
  const FilterOptions options(filter_parameters);
  if (convolution.integer())
    return make_integer_convolution_filter(options, convolution, parameters->activation);
  return make_filter<ConvolutionFilter>(options, convolution, parameters->activation);
}

}  // namespace bnns::impl
