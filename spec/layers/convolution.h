// Convolution and transposed convolution. A small image (p, q) and a large one (y, x) meet at tap
// (kx, ky) where  y = sy p + ky dy - up  and  x = sx q + kx dx - left  lie inside the large image.
//   convolution (in is large)   z[o,p,q] = bias[o] + sum over i, ky, kx of W(kx,ky,i,o) in[i,y,x]
//   transposed  (in is small)   z[o,y,x] = bias[o] + sum over i, p, q, ... of W(kx,ky,i,o)
//   in[i,p,q] out = act(z);  g = dy act'(y);  every gradient is a sum over the same meetings: d_in
//   += W g      dW += in g, over the batch      d_bias += g, over the batch
#ifndef OPENBNNS_SPEC_CONVOLUTION_H
#define OPENBNNS_SPEC_CONVOLUTION_H

#include <numeric>

#include "layers/activation_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

struct ConvolutionAxisSize {
  size_t large, small, kernel, stride = 1, dilation = 1, before = 0, after = 0;
};

struct ConvolutionSize {
  bool transposed = false;
  size_t in_channels = 1, out_channels = 1, groups = 1, batch = 1;
  ConvolutionAxisSize x, y;
};

}  // namespace spec

namespace spec::reference {

struct Convolution {
  enum : size_t { kIn, kOut, kWeights, kBias };
  ConvolutionSize size;
  BNNSActivation activation;

  struct Meeting {
    size_t kx, ky, i_in_group, i, o;
    size_t in_x, in_y, out_x, out_y;
  };

  // Calls f for every product of one sample.
  template <class F>
  void for_each_meeting(const F& f) const {
    const size_t ig = size.in_channels / size.groups, og = size.out_channels / size.groups;
    for (size_t o = 0; o < size.out_channels; ++o)
      for (size_t i = 0; i < ig; ++i)
        for (size_t ky = 0; ky < size.y.kernel; ++ky)
          for (size_t kx = 0; kx < size.x.kernel; ++kx)
            for (size_t p = 0; p < size.y.small; ++p)
              for (size_t q = 0; q < size.x.small; ++q) {
                const size_t y = size.y.stride * p + ky * size.y.dilation - size.y.before;
                const size_t x = size.x.stride * q + kx * size.x.dilation - size.x.before;
                // A negative position has wrapped around.
                if (y >= size.y.large || x >= size.x.large) continue;
                const size_t channel = o / og * ig + i;
                if (size.transposed)
                  f(Meeting{kx, ky, i, channel, o, q, p, x, y});
                else
                  f(Meeting{kx, ky, i, channel, o, x, y, q, p});
              }
  }

  template <class T>
  void forward(Values<T>& v) const {
    Array<T>& y = v.value[kOut];
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<Sum<T>> z(y.count());
      for_each_meeting([&](const Meeting& m) {
        z[y.position(std::array{m.out_x, m.out_y, m.o})].add(
            v.value[kWeights].at(0, {m.kx, m.ky, m.i_in_group, m.o}),
            v.value[kIn].at(b, {m.in_x, m.in_y, m.i}));
      });
      std::vector<T> row(width(y));
      for (size_t first = 0; first < y.count(); first += row.size()) {
        for (size_t x = 0; x < row.size(); ++x) {
          if (v.value.size() > kBias) z[first + x].add(v.value[kBias](0, channel(y, first)));
          row[x] = z[first + x].get();
        }
        activate(row);
        for (size_t x = 0; x < row.size(); ++x) y(b, first + x) = row[x];
      }
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    const Array<T>&w = v.value[kWeights], &in = v.value[kIn];
    const Array<T>& y = v.value[kOut];
    std::vector<Sum<T>> dw(w.count()), db(size.out_channels);
    for (size_t b = 0; b < v.batch; ++b) {
      const std::vector<T> g = before_activation(v, b);
      std::vector<Sum<T>> dx(in.count());
      for_each_meeting([&](const Meeting& m) {
        const T& go = g[y.position(std::array{m.out_x, m.out_y, m.o})];
        const std::array tap{m.kx, m.ky, m.i_in_group, m.o};
        const std::array pixel{m.in_x, m.in_y, m.i};
        dx[in.position(pixel)].add(w(0, w.position(tap)), go);
        dw[w.position(tap)].add(in(b, in.position(pixel)), go);
      });
      for (size_t k = 0; k < g.size(); ++k) db[channel(y, k)].add(g[k]);
      for (size_t k = 0; k < in.count(); ++k) v.delta[kIn](b, k) = dx[k].get();
    }
    for (size_t k = 0; k < w.count(); ++k) v.delta[kWeights](0, k) = dw[k].get();
    if (v.delta.size() <= kBias) return;
    for (size_t o = 0; o < size.out_channels; ++o) v.delta[kBias](0, o) = db[o].get();
  }

 private:
  template <class T>
  static size_t width(const Array<T>& image) {
    return image.shape().size[0];
  }
  template <class T>
  static size_t channel(const Array<T>& image, size_t k) {
    return k / (image.shape().size[0] * image.shape().size[1]);
  }
  static std::vector<size_t> whole(size_t n) {
    std::vector<size_t> group(n);
    std::iota(group.begin(), group.end(), size_t{0});
    return group;
  }
  bool is_log() const { return activation.function == BNNSActivationFunctionLogSoftmax; }

  // One row: the softmax family runs along the width.
  template <class T>
  void activate(std::vector<T>& z) const {
    if (is_softmax(activation.function)) {
      const std::vector<T> x = z;
      return softmax(x, z, whole(z.size()), is_log());
    }
    for (T& value : z)
      value = formula<T>(activation.function).y(value, T(activation.alpha), T(activation.beta));
  }

  template <class T>
  std::vector<T> before_activation(const Values<T>& v, size_t b) const {
    const Array<T>&out = v.value[kOut], &delta = v.delta[kOut];
    std::vector<T> g(out.count()), y(width(out)), dy(width(out)), row(width(out));
    for (size_t first = 0; first < g.size(); first += row.size()) {
      for (size_t x = 0; x < row.size(); ++x) {
        y[x] = out(b, first + x);
        dy[x] = delta(b, first + x);
      }
      if (is_softmax(activation.function)) {
        softmax_backward(y, dy, row, whole(row.size()), is_log());
      } else {
        const Formula<T>& f = formula<T>(activation.function);
        for (size_t x = 0; x < row.size(); ++x)
          row[x] = f.from_y(y[x], T(activation.alpha), T(activation.beta)) * dy[x];
      }
      std::copy(row.begin(), row.end(), g.begin() + static_cast<ptrdiff_t>(first));
    }
    return g;
  }
};

}  // namespace spec::reference

namespace spec {

inline Shape convolution_weights_shape(const ConvolutionSize& s, BNNSDataLayout layout) {
  size_t in = s.in_channels / s.groups, out = s.out_channels;
  if (layout == BNNSDataLayoutConvolutionWeightsIOHrWr) std::swap(in, out);
  return {layout, {s.x.kernel, s.y.kernel, in, out}};
}

inline std::string convolution_tag(const ConvolutionSize& s, BNNSDataLayout layout, bool bias) {
  const auto pair = [](const char* letter, size_t x, size_t y) {
    return letter + std::to_string(x) + "x" + std::to_string(y);
  };
  const char* names[] = {"oihw", "oihrwr", "iohrwr"};
  std::string text = std::to_string(s.in_channels) + "to" + std::to_string(s.out_channels) + "_b" +
                     std::to_string(s.batch) + pair("_", s.x.large, s.y.large) +
                     pair("_", s.x.small, s.y.small) + pair("_k", s.x.kernel, s.y.kernel) +
                     pair("_s", s.x.stride, s.y.stride) + pair("_d", s.x.dilation, s.y.dilation);
  text += pair("_p", s.x.before, s.y.before) + pair("to", s.x.after, s.y.after);
  if (s.groups > 1) text += "_g" + std::to_string(s.groups);
  text += std::string("_") + (is_pack32(layout) ? "pack32" : names[layout & 3]);
  return text + (bias ? "" : "_nobias");
}

inline std::vector<TypeSet> convolution_types(const ConvolutionSize& size, bool bias) {
  const ElementType f32, f16{.type = BNNSDataTypeFloat16}, bf16{.type = BNNSDataTypeBFloat16};
  std::vector<TypeSet> sets = {{.name = "f32", .types = {f32, f32, f32, f32}}};
  if (!size.transposed) {
    std::vector<float> table(256);
    for (size_t i = 0; i < 256; ++i) table[i] = static_cast<float>((i * 37 % 256) / 64.0 - 2);
    const ElementType i8{.type = BNNSDataTypeInt8, .scale = 1 / 64.0f, .bias = 0.25f};
    const ElementType i8_weights{.type = BNNSDataTypeInt8, .scale = 1 / 128.0f};
    const ElementType u8{.type = BNNSDataTypeUInt8, .scale = 1 / 32.0f, .bias = -1.5f};
    const ElementType i8_out{.type = BNNSDataTypeInt8, .scale = 0.25f};
    const ElementType indexed{.type = BNNSDataTypeIndexed8, .table = table};
    sets.insert(sets.end(),
                {{.name = "f16", .types = {f16, f16, f16, f16}, .backward = Need::kOptional},
                 {.name = "f16_f32", .types = {f16, f32, f16, f32}, .backward = Need::kOptional},
                 {.name = "bf16", .types = {bf16, bf16, bf16, bf16}, .backward = Need::kOptional},
                 {.name = "i8", .types = {i8, f32, i8_weights, f32}, .backward = Need::kNone},
                 {.name = "u8", .types = {u8, f32, u8, f32}, .backward = Need::kNone},
                 {.name = "i8_i8", .types = {i8, i8_out, i8_weights, f32}, .backward = Need::kNone},
                 {.name = "idx8", .types = {f32, f32, indexed, f32}, .backward = Need::kNone}});
  }
  if (!bias)
    for (TypeSet& t : sets) t.types.pop_back();
  return sets;
}

inline std::vector<Backward> convolution_backward(const reference::Convolution& layer, bool bias) {
  const BNNSActivationFunction f = layer.activation.function;
  const bool identity = f == BNNSActivationFunctionIdentity;
  std::vector<size_t> deltas = {0, 2};
  if (bias) deltas.push_back(3);
  const auto refused = [&](const char* name, bool in, bool out) {
    return Backward{
        .name = name, .pass_in = in, .pass_out = out, .deltas = deltas, .refused = true};
  };
  if (!derives_from_y(f)) return {refused("backward", true, true)};
  std::vector<Backward> ways = {{.name = "backward",
                                 .reference = [layer](auto& v) { layer.backward(v); },
                                 .pass_out = !identity,
                                 .deltas = deltas,
                                 .in_needed_by = 2},
                                refused("backward-without-in", false, true)};
  if (!identity) ways.push_back(refused("backward-without-out", true, false));
  return ways;
}

inline BNNSLayerParametersConvolution convolution_parameters(const Call& call,
                                                             const ConvolutionSize& s, bool bias,
                                                             const BNNSActivation& activation) {
  BNNSLayerParametersConvolution p = {};
  p.i_desc = call.value[0].shape_only();
  p.o_desc = call.value[1].shape_only();
  p.w_desc = call.value[2].desc;
  if (bias) p.bias = call.value[3].desc;
  p.activation = activation;
  // A step of 1 may be written as 0.
  p.x_stride = s.x.stride == 1 ? 0 : s.x.stride;
  p.y_stride = s.y.stride;
  p.x_dilation_stride = s.x.dilation;
  p.y_dilation_stride = s.y.dilation == 1 ? 0 : s.y.dilation;
  p.groups = s.groups == 1 ? 0 : s.groups;
  if (s.x.before == s.x.after && s.y.before == s.y.after) {
    p.x_padding = s.x.before;
    p.y_padding = s.y.before;
    // Not read beside the symmetric padding.
    if (s.x.before + s.y.before > 0) p.pad[0] = p.pad[3] = 77;
  } else {
    p.pad[0] = s.x.before;
    p.pad[1] = s.x.after;
    p.pad[2] = s.y.before;
    p.pad[3] = s.y.after;
  }
  return p;
}

inline BNNSFilter create_convolution(Call& call, const ConvolutionSize& s, bool bias,
                                     const BNNSActivation& activation) {
  const BNNSLayerParametersConvolution p = convolution_parameters(call, s, bias, activation);
  return s.transposed ? BNNSFilterCreateLayerTransposedConvolution(&p, &call.parameters)
                      : BNNSFilterCreateLayerConvolution(&p, &call.parameters);
}

inline Case convolution_case(const ConvolutionSize& s, BNNSDataLayout layout, bool bias,
                             const ActivationInfo& row = activation_rows()[0]) {
  Case c{.layer = s.transposed ? "transposed_convolution" : "convolution", .function = row.name};
  c.shape = convolution_tag(s, layout, bias);
  c.batch = s.batch;
  const Shape large = image(s.x.large, s.y.large, s.transposed ? s.out_channels : s.in_channels);
  const Shape small = image(s.x.small, s.y.small, s.transposed ? s.in_channels : s.out_channels);
  // Weights shrink with the number of terms, so that z stays where the activation is curved.
  const double terms = static_cast<double>(s.in_channels / s.groups * s.x.kernel * s.y.kernel);
  const double reach = 1.5 / std::sqrt(terms);
  c.operands = {{.name = "in", .role = Role::kIn, .shape = s.transposed ? small : large},
                {.name = "out", .role = Role::kOut, .shape = s.transposed ? large : small},
                {.name = "weights",
                 .role = Role::kParameter,
                 .shape = convolution_weights_shape(s, layout),
                 .fill = {-reach, reach}}};
  if (bias)
    c.operands.push_back(
        {.name = "bias", .role = Role::kParameter, .shape = vector_of(s.out_channels)});
  const reference::Convolution layer{s, activation_of(row)};
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = convolution_backward(layer, bias);
  c.create = [s, bias, a = layer.activation](Call& call) {
    return create_convolution(call, s, bias, a);
  };
  c.types = convolution_types(s, bias);
  c.integers_are_exact = row.function == BNNSActivationFunctionIdentity ||
                         row.function == BNNSActivationFunctionRectifiedLinear;
  c.flops = 2.0 * terms * static_cast<double>(small.size[0] * small.size[1] * s.batch) *
            static_cast<double>(s.out_channels);
  return c;
}

}  // namespace spec
#endif
