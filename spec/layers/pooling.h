// The cases of pooling_reference.h. The calls alternate between the generic functions and those
// with indices of 32 and of 64 bits; the indices of a forward call go into the backward call behind
// it.
#ifndef OPENBNNS_SPEC_POOLING_H
#define OPENBNNS_SPEC_POOLING_H

#include "layers/pooling_reference.h"

namespace spec {

// Indices laid out as the tensor with one element per window.
struct PoolingIndexMemory {
  BNNSDataType type;
  size_t batch;
  std::vector<uint32_t> small;
  std::vector<size_t> large;
  Index offsets;
  size_t step = 0;

  // Descriptors carry zeros for strides that are packed.
  void lay_out(const Argument& like) {
    const BNNSNDArrayDescriptor& d = like.desc;
    Index stride(3);
    size_t packed = 1;
    for (size_t k = 0; k < 3; ++k) {
      stride[k] = d.stride[k] == 0 ? packed : d.stride[k];
      packed = stride[k] * d.size[k];
    }
    const Shape shape = image(d.size[0], d.size[1], d.size[2]);
    const size_t span = span_of(shape, stride);
    step = like.stride == 0 ? 0 : span + 1;
    offsets.clear();
    for (size_t b = 0; b < batch; ++b)
      for (size_t o : element_offsets(shape, stride))
        offsets.push_back(b * (step ? step : packed_step(shape, stride)) + o);
    small.assign(offsets.back() + 1, 0xFFFFFFFFu);
    large.assign(offsets.back() + 1, ~size_t{0});
  }
  void write(const std::vector<size_t>& values) {
    for (size_t k = 0; k < values.size(); ++k) {
      small[offsets[k]] = static_cast<uint32_t>(values[k]);
      large[offsets[k]] = values[k];
    }
  }
  void* data() {
    return type == BNNSDataTypeUInt32 ? static_cast<void*>(small.data()) : large.data();
  }
};

inline int apply_pooling(Call& call, PoolingIndexMemory& indices, bool given) {
  const Argument &in = call.value[0], &out = call.value[1];
  if (!given) return apply_filter(call);
  if (indices.type == BNNSDataTypeUInt64)
    return BNNSPoolingFilterApplyBatch(call.filter, call.batch, in.data(), in.stride, out.data(),
                                       out.stride, indices.large.data(), indices.step);
  return BNNSPoolingFilterApplyBatchEx(call.filter, call.batch, in.data(), in.stride, out.data(),
                                       out.stride, indices.type, indices.data(), indices.step);
}

inline int apply_pooling_backward(Call& call, PoolingIndexMemory& indices, bool given,
                                  bool generic) {
  const Argument &in = call.value[0], &out = call.value[1];
  BNNSNDArrayDescriptor* bias = call.delta.size() > 2 ? call.delta[2].pointer() : nullptr;
  if (generic && !given)
    return BNNSFilterApplyBackwardBatch(call.filter, call.batch, in.data(), in.stride,
                                        call.delta[0].pointer(), call.delta[0].stride, out.data(),
                                        out.stride, call.delta[1].pointer(), call.delta[1].stride,
                                        nullptr, bias);
  if (indices.type == BNNSDataTypeUInt64)
    return BNNSPoolingFilterApplyBackwardBatch(
        call.filter, call.batch, in.data(), in.stride, call.delta[0].pointer(),
        call.delta[0].stride, out.data(), out.stride, call.delta[1].pointer(), call.delta[1].stride,
        bias, given ? indices.large.data() : nullptr, indices.step);
  return BNNSPoolingFilterApplyBackwardBatchEx(
      call.filter, call.batch, in.data(), in.stride, call.delta[0].pointer(), call.delta[0].stride,
      out.data(), out.stride, call.delta[1].pointer(), call.delta[1].stride, bias, indices.type,
      given ? indices.data() : nullptr, indices.step);
}

inline BNNSFilter create_pooling(const reference::Pooling& layer, bool bias, Call& call) {
  BNNSLayerParametersPooling p = {.i_desc = call.value[0].shape_only(),
                                  .o_desc = call.value[1].shape_only(),
                                  .activation = layer.activation,
                                  .pooling_function = layer.function};
  if (bias) p.bias = call.value[2].desc;
  const PoolingSize& s = layer.size;
  p.k_width = s.kernel[0];
  p.k_height = s.kernel[1];
  p.x_stride = s.stride[0];
  p.y_stride = s.stride[1];
  p.x_dilation_stride = s.dilation[0];
  p.y_dilation_stride = s.dilation[1];
  if (s.pad[0] == s.pad[1] && s.pad[2] == s.pad[3]) {
    p.x_padding = s.pad[0];
    p.y_padding = s.pad[2];
  } else {
    for (size_t k = 0; k < 4; ++k) p.pad[k] = s.pad[k];
  }
  return BNNSFilterCreateLayerPooling(&p, &call.parameters);
}

inline std::string pooling_tag(const PoolingSize& s) {
  const auto pair = [](const char* name, const std::array<size_t, 2>& v) {
    return std::string(name) + std::to_string(v[0]) + "x" + std::to_string(v[1]);
  };
  std::string text = tag(s.cells_shape(), s.batch) + pair("_to", s.windows()) +
                     pair("_k", s.kernel) + pair("_s", s.stride);
  if (s.dilation != std::array<size_t, 2>{1, 1}) text += pair("_d", s.dilation);
  if (s.pad != std::array<size_t, 4>{}) {
    text += "_p";
    for (size_t p : s.pad) text += std::to_string(p);
  }
  return text;
}

// A cell of each window; where windows overlap, cells may repeat.
inline std::vector<size_t> un_max_index(const reference::Pooling& layer) {
  Random random("un_max" + pooling_tag(layer.size));
  const std::array<size_t, 2> n = layer.size.windows();
  std::vector<size_t> index;
  for (size_t plane = 0; plane < layer.size.batch * layer.size.channels; ++plane) {
    for (size_t k = 0; k < n[0] * n[1]; ++k) {
      const auto window = layer.cells(k % n[0], k / n[0]);
      const size_t chosen = window.empty() ? 0 : random.next() % window.size();
      index.push_back(window.empty() ? 0 : window[chosen].x + window[chosen].y * layer.size.width);
    }
  }
  return index;
}

inline void set_passes(Case& c, const reference::Pooling& layer, const reference::UnMax& un_max) {
  const bool is_un_max = layer.function == BNNSPoolingFunctionUnMax;
  const bool identity = layer.activation.function == BNNSActivationFunctionIdentity;
  std::vector<size_t> deltas = {0};
  if (c.operands.size() > 2) deltas.push_back(2);
  Backward way = {.name = "backward", .pass_out = !identity, .deltas = deltas};
  way.refused = !derives_from_y(layer.activation.function);
  if (is_un_max) {
    c.forward = [un_max](auto& v) { un_max.forward(v); };
    way.reference = [un_max](auto& v) { un_max.backward(v); };
  } else {
    c.forward = [layer](auto& v) { layer.forward(v); };
    way.reference = [layer](auto& v) { layer.backward(v); };
  }
  if (way.refused) way.reference = {};
  const bool needs_in =
      layer.function == BNNSPoolingFunctionMax || layer.function == BNNSPoolingFunctionL2Norm;
  way.pass_in = needs_in;
  c.backward = {way};
  if (layer.function == BNNSPoolingFunctionMax) {
    way.name = "backward-indices";
    way.pass_in = false;
    c.backward.push_back(way);
  }
  if (layer.function == BNNSPoolingFunctionL2Norm && !way.refused)
    c.backward.push_back({.name = "backward-without-in",
                          .pass_in = false,
                          .pass_out = true,
                          .deltas = {0},
                          .refused = true});
}

inline Case pooling_case(const PoolingRow& row, const PoolingSize& size, bool bias,
                         const ActivationInfo& activation = activation_rows()[0]) {
  const reference::Pooling layer{row.function, size, activation_of(activation)};
  const bool un_max = row.function == BNNSPoolingFunctionUnMax;
  const bool max = row.function == BNNSPoolingFunctionMax;
  Case c{.layer = "pooling", .function = row.name, .shape = pooling_tag(size)};
  if (bias) c.shape += "_bias";
  if (activation.function != BNNSActivationFunctionIdentity)
    c.shape += std::string("_") + activation.name;
  c.batch = size.batch;
  c.operands = {{.name = "in",
                 .role = Role::kIn,
                 .shape = un_max ? size.windows_shape() : size.cells_shape()},
                {.name = "out",
                 .role = Role::kOut,
                 .shape = un_max ? size.cells_shape() : size.windows_shape()}};
  if (bias)
    c.operands.push_back(
        {.name = "bias", .role = Role::kParameter, .shape = vector_of(size.channels)});
  const auto index = un_max ? un_max_index(layer) : std::vector<size_t>{};
  set_passes(c, layer, {layer, index});
  const uint64_t choice = hash(c.name());
  const auto memory = std::make_shared<PoolingIndexMemory>(PoolingIndexMemory{
      .type = choice % 2 ? BNNSDataTypeUInt32 : BNNSDataTypeUInt64, .batch = size.batch});
  c.create = [layer, bias](Call& call) { return create_pooling(layer, bias, call); };
  c.apply = [=](Call& call) {
    memory->lay_out(call.value[un_max ? 0 : 1]);
    if (un_max) memory->write(index);
    return apply_pooling(call, *memory, un_max || max);
  };
  c.apply_backward = [=](Call& call) {
    const bool given = un_max || (max && !call.value[0].given);
    return apply_pooling_backward(call, *memory, given, choice % 4 < 2);
  };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired),
             same_type(c, BNNSDataTypeFloat16, Need::kNone),
             same_type(c, BNNSDataTypeBFloat16, Need::kNone)};
  const size_t taps = size.kernel[0] * size.kernel[1];
  const bool exact_average = row.function == BNNSPoolingFunctionAverageCountIncludePadding &&
                             (taps & (taps - 1)) == 0 && taps <= 16;
  const bool exact_function = activation.function == BNNSActivationFunctionIdentity ||
                              activation.function == BNNSActivationFunctionRectifiedLinear;
  c.integers_are_exact = (max || un_max || exact_average) && exact_function;
  c.flops = static_cast<double>(size.windows_shape().count() * taps * size.batch);
  return c;
}

// Every field is drawn; windows may hang over, or miss the image.
inline PoolingSize random_pooling_size(size_t i, size_t most) {
  Random random("pooling" + std::to_string(i));
  const auto draw = [&](size_t lo, size_t hi) {
    return static_cast<size_t>(random.integer(static_cast<int64_t>(lo), static_cast<int64_t>(hi)));
  };
  PoolingSize s = {.width = draw(1, most),
                   .height = draw(1, most / 2),
                   .channels = draw(1, 3),
                   .batch = draw(1, 3),
                   .kernel = {draw(1, 5), draw(1, 5)}};
  s.stride = {draw(1, 4), draw(1, 4)};
  if (i % 3 == 0) s.dilation = {draw(1, 3), draw(1, 3)};
  if (i % 2 == 0) s.pad = {draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3)};
  if (i % 4 == 1) s.pad = {s.kernel[0] / 2, s.kernel[0] / 2, s.kernel[1] / 2, s.kernel[1] / 2};
  s.overhang = i % 5 == 0 ? draw(1, 3) : 0;
  return s;
}

inline void add_pooling_function(Suite& suite, const PoolingRow& row) {
  const auto sampled = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  for (size_t i = 0; i < 120; ++i)
    sampled(pooling_case(row, random_pooling_size(i, 8 + i / 3), i % 3 == 0));
  // All widths around the vector sizes, for the windows that networks use.
  for (size_t n = 2; n <= 70; ++n) {
    sampled(pooling_case(row,
                         {.width = n,
                          .height = 2 + n % 7,
                          .channels = 2,
                          .batch = 1 + n % 2,
                          .kernel = {2, 2},
                          .stride = {2, 2}},
                         n % 2 == 0));
    sampled(pooling_case(row,
                         {.width = n,
                          .height = 3 + n % 5,
                          .channels = 1,
                          .batch = 2,
                          .kernel = {3, 3},
                          .stride = {1 + n % 2, 2},
                          .pad = {1, 1, 1, 1}},
                         n % 2 == 1));
  }
  const PoolingSize thorough[] = {
      {.width = 12, .height = 9, .channels = 3, .batch = 2, .kernel = {2, 2}, .stride = {2, 2}},
      {.width = 11,
       .height = 8,
       .channels = 2,
       .batch = 3,
       .kernel = {3, 2},
       .stride = {2, 1},
       .dilation = {1, 2},
       .pad = {1, 2, 0, 1},
       .overhang = 1},
      {.width = 37,
       .height = 6,
       .channels = 2,
       .batch = 2,
       .kernel = {4, 3},
       .stride = {3, 2},
       .pad = {2, 2, 1, 1}},
      {.width = 7, .height = 7, .channels = 4, .batch = 2, .kernel = {7, 7}},
      // Far more padding, stride and window than image.
      {.width = 3,
       .height = 4,
       .channels = 2,
       .batch = 2,
       .kernel = {40, 30},
       .stride = {300, 3},
       .dilation = {1, 2},
       .pad = {600, 1, 20, 2},
       .overhang = 1},
  };
  for (const PoolingSize& s : thorough) suite.cases.push_back(pooling_case(row, s, true));
}

inline void add_pooling_fused(Suite& suite) {
  const PoolingSize size = {.width = 9,
                            .height = 6,
                            .channels = 2,
                            .batch = 2,
                            .kernel = {2, 3},
                            .stride = {2, 2},
                            .pad = {1, 0, 1, 1}};
  size_t function = 2;  // the functions take turns
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    suite.cases.push_back(pooling_case(kPoolingRows[function++ % 5], size, true, row));
  }
}

inline void add_pooling_gradients(Suite& suite) {
  const ActivationInfo* tanh = &activation_rows()[4];
  for (const PoolingRow& row : kPoolingRows) {
    // Values of UnMax that share a cell do not have the derivative of a function.
    const bool un_max = row.function == BNNSPoolingFunctionUnMax;
    for (size_t i = 0; i < 12; ++i) {
      PoolingSize s = random_pooling_size(i + 500, 8);
      if (un_max) {
        s.stride = {s.kernel[0] * s.dilation[0], s.kernel[1] * s.dilation[1]};
        s.pad = {};
        s.overhang = 0;
        s.width = s.stride[0] * 2;
        s.height = s.stride[1];
      }
      Case c = pooling_case(row, s, true, i % 2 ? *tanh : activation_rows()[0]);
      c.gradient = true;
      c.thorough = false;
      suite.cases.push_back(c);
    }
  }
}

inline void add_pooling(Suite& suite) {
  for (const PoolingRow& row : kPoolingRows) {
    add_pooling_function(suite, row);
    // Worth several threads: many planes, and few large ones.
    for (bool bias : {false, true}) {
      Case many = pooling_case(row,
                               {.width = 14,
                                .height = 14,
                                .channels = 67,
                                .batch = 5,
                                .kernel = {3, 3},
                                .stride = {2, 2},
                                .pad = {1, 1, 1, 1}},
                               bias);
      many.thorough = false;
      suite.cases.push_back(many);
    }
    Case large = pooling_case(row,
                              {.width = 201,
                               .height = 157,
                               .channels = 2,
                               .batch = 2,
                               .kernel = {2, 2},
                               .stride = {2, 2}},
                              true);
    large.thorough = false;
    suite.cases.push_back(large);
    Case speed = pooling_case(
        row,
        {.width = 56, .height = 56, .channels = 64, .batch = 8, .kernel = {2, 2}, .stride = {2, 2}},
        false);
    speed.speed = true;
    suite.cases.push_back(speed);
  }
  add_pooling_fused(suite);
  add_pooling_gradients(suite);
}

}  // namespace spec
#endif
