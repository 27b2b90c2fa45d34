// The convolution filter of integers: y = saturate((scale (b + W * x) + offset) >> shift), a
// convolution with a fused IntegerLinearSaturate. It uses stored values, without data_scale and
// data_bias.
#include "layers/convolution.h"
#include "layers/integer_constants.h"
#include "ops/convolution/integer.h"

namespace bnns::impl {
namespace {

class IntegerConvolutionFilter final : public Filter {
 public:
  IntegerConvolutionFilter(const FilterOptions& options, const ConvolutionParameters& convolution,
                           const BNNSActivation& activation)
      : Filter("a convolution filter", options),
        convolution_(convolution),
        constants_(options, activation, convolution.out.size[2], 1),
        problem_{.geometry = convolution.geometry,
                 .weights = map_weights(convolution.weights, false),
                 .bias = convolution.has_bias ? collapsed(convolution.bias.view) : View()},
        use_client_pointer_(options.use_client_pointer) {
    if (use_client_pointer_) return;
    weights_ = copy_stored(options.memory, problem_.weights.view);
    if (convolution.has_bias) bias_ = copy_stored(options.memory, problem_.bias);
  }

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs&) override {
    fail("activation is ", convolution_.activation->name, "; it has no gradient");
  }

 private:
  ConvolutionParameters convolution_;
  IntegerConstants constants_;
  IntegerConvolution problem_;
  Array<char> weights_, bias_;
  bool use_client_pointer_;
};

void IntegerConvolutionFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  const ConvolutionTensors tensors = check_forward(args, convolution_, use_client_pointer_);
  run_integer_convolution(problem_, constants_.function(), threads(), tensors.in, tensors.out);
}

}  // namespace

BNNSFilter make_integer_convolution_filter(const FilterOptions& options,
                                           const ConvolutionParameters& convolution,
                                           const BNNSActivation& activation) {
  return make_filter<IntegerConvolutionFilter>(options, convolution, activation);
}

}  // namespace bnns::impl
