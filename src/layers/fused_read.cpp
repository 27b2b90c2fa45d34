// Two parameter structures -> FusedParameters. Messages about one of them begin with its place in
// the list.
#include "layers/fused_read.h"

namespace bnns::impl {
namespace {

struct PairInfo {
  BNNSFilterType type;
  const char* name;
  bool first, second;  // where it may stand
  bool before_quantizer = false;
};

constexpr PairInfo kLayers[] = {
    {BNNSConvolution, "Convolution", true, false, true},
    {BNNSFullyConnected, "FullyConnected", true, false, true},
    {BNNSTransposedConvolution, "TransposedConvolution", true, false, true},
    {BNNSArithmetic, "Arithmetic", true, false},
    {BNNSBatchNorm, "BatchNorm", false, true},
    {BNNSInstanceNorm, "InstanceNorm", false, true},
    {BNNSLayerNorm, "LayerNorm", false, true},
    {BNNSGroupNorm, "GroupNorm", false, true},
    {BNNSQuantization, "Quantization", false, true},
};

const PairInfo& find_layer(BNNSFilterType type, size_t place) {
  for (const PairInfo& info : kLayers) {
    if (info.type == type && (place == 0 ? info.first : info.second)) return info;
  }
  fail("filter_type[", place, "] is ", static_cast<uint32_t>(type),
       place == 0 ? "; the first layer must be Convolution, FullyConnected, TransposedConvolution "
                    "or Arithmetic"
                  : "; the second layer must be a normalization or Quantization");
}

// Reads one of the two structures. What is wrong with it is told with its place.
template <class Read>
auto read_at(size_t place, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    fail("layer_params[", place, "]: ", error.text.c_str());
  }
}

template <class Parameters>
void require_float_layer(const Parameters& p) {
  require(!p.integer(), "layer_params[0]: activation.function is ", p.activation->name,
          "; a fused filter takes layers of floating-point numbers");
}

void read_first(BNNSFilterType type, const void* given, FusedParameters& p) {
  switch (type) {
    case BNNSConvolution:
    case BNNSTransposedConvolution: {
      const auto* c = static_cast<const BNNSLayerParametersConvolution*>(given);
      p.first = read_at(0, [&] { return read_convolution(c, type == BNNSTransposedConvolution); });
      p.activation = c->activation;
      return require_float_layer(std::get<ConvolutionParameters>(p.first));
    }
    case BNNSFullyConnected: {
      const auto* f = static_cast<const BNNSLayerParametersFullyConnected*>(given);
      p.first = read_at(0, [&] { return read_fully_connected(f); });
      p.activation = f->activation;
      return require_float_layer(std::get<FullyConnectedParameters>(p.first));
    }
    default: {
      const auto* a = static_cast<const BNNSLayerParametersArithmetic*>(given);
      p.first = read_at(0, [&] { return read_arithmetic(a); });
      const ArithmeticParameters& read = std::get<ArithmeticParameters>(p.first);
      require(read.problem.out_type == BNNSSample, "layer_params[0]: out_type is ",
              static_cast<uint32_t>(read.problem.out_type),
              "; what a normalization follows must be a Sample (1)");
    }
  }
}

void read_second(BNNSFilterType type, const void* given, FusedParameters& p) {
  p.second = read_at(1, [&]() -> FusedSecond {
    if (type == BNNSQuantization)
      return read_quantizer(static_cast<const BNNSLayerParametersQuantization*>(given));
    return read_normalization(type, static_cast<const BNNSLayerParametersNormalization*>(given));
  });
}

// What leaves the first layer is what enters the second one.
void check_between(const Descriptor& out, const Descriptor& in) {
  bool equal = out.layout == in.layout && out.type == in.type;
  for (size_t k = 0; equal && k < out.rank(); ++k)
    equal = out.size[k] == in.size[k] && out.view.stride[k] == in.view.stride[k];
  if (!equal) {
    fail("the output of layer_params[0] is ", describe(out), " of ", out.type->name,
         ", the input of layer_params[1] is ", describe(in), " of ", in.type->name,
         "; they must have the same layout, sizes, strides and type");
  }
}

}  // namespace

FusedParameters read_fused(size_t count, const BNNSFilterType* types,
                           const void* const* parameters) {
  require(count == 2, "number_of_fused_filters is ", count, "; it must be 2");
  require(types != nullptr, "filter_type is NULL");
  require(parameters != nullptr, "layer_params is NULL");
  const PairInfo& first = find_layer(types[0], 0);
  const PairInfo& second = find_layer(types[1], 1);
  require(types[1] != BNNSQuantization || first.before_quantizer, "filter_type[0] is ", first.name,
          " and filter_type[1] is ", second.name,
          "; arithmetic can be followed by a normalization only");
  for (size_t k = 0; k < 2; ++k) require(parameters[k] != nullptr, "layer_params[", k, "] is NULL");
  FusedParameters p;
  read_first(types[0], parameters[0], p);
  read_second(types[1], parameters[1], p);
  const Descriptor& out =
      std::visit([](const auto& f) -> const Descriptor& { return f.out; }, p.first);
  const Descriptor& in =
      std::visit([](const auto& s) -> const Descriptor& { return s.in; }, p.second);
  check_between(out, in);
  return p;
}

}  // namespace bnns::impl
