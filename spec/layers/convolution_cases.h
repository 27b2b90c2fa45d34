// The cases of convolution and transposed convolution: chosen geometries, random ones, every fused
// activation, and those to be timed.
#ifndef OPENBNNS_SPEC_CONVOLUTION_CASES_H
#define OPENBNNS_SPEC_CONVOLUTION_CASES_H

#include "layers/convolution.h"

namespace spec {

inline constexpr BNNSDataLayout kConvolutionLayouts[] = {
    BNNSDataLayoutConvolutionWeightsOIHW, BNNSDataLayoutConvolutionWeightsOIHrWr,
    BNNSDataLayoutConvolutionWeightsIOHrWr, BNNSDataLayoutConvolutionWeightsOIHW_Pack32};

// The large extent that the small one needs, plus `extra` that is not used.
inline ConvolutionAxisSize convolution_axis(size_t small, size_t kernel, size_t stride,
                                            size_t dilation, size_t before, size_t after,
                                            size_t extra = 0) {
  const size_t needed = stride * (small - 1) + (kernel - 1) * dilation + 1 + extra;
  const size_t padding = before + after;
  return {.large = needed > padding ? needed - padding : 1,
          .small = small,
          .kernel = kernel,
          .stride = stride,
          .dilation = dilation,
          .before = before,
          .after = after};
}

inline ConvolutionAxisSize random_convolution_axis(Random& r, size_t longest) {
  const auto pick = [&](int64_t lo, int64_t hi) { return static_cast<size_t>(r.integer(lo, hi)); };
  const size_t kernel = pick(1, 4), stride = pick(1, 4) > 2 ? pick(2, 3) : 1;
  const size_t dilation = pick(1, 4) > 3 ? pick(2, 5) : 1;
  return convolution_axis(pick(1, static_cast<int64_t>(longest)), kernel, stride, dilation,
                          pick(0, 3), pick(0, 3), pick(0, 3) == 3 ? pick(1, 4) : 0);
}

inline ConvolutionSize random_convolution(Random& r) {
  const auto pick = [&](int64_t lo, int64_t hi) { return static_cast<size_t>(r.integer(lo, hi)); };
  ConvolutionSize s = {.transposed = pick(0, 2) == 0};
  s.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
  const bool depthwise = s.groups > 1 && pick(0, 1) == 0;
  s.in_channels = s.groups * (depthwise ? 1 : pick(1, 6));
  s.out_channels = s.groups * (depthwise ? pick(1, 2) : pick(1, 6));
  s.batch = pick(1, 3);
  s.x = random_convolution_axis(r, 21);
  s.y = random_convolution_axis(r, 7);
  if (pick(0, 1) == 0) {  // symmetric
    s.x = convolution_axis(s.x.small, s.x.kernel, s.x.stride, s.x.dilation, s.x.before, s.x.before);
    s.y = convolution_axis(s.y.small, s.y.kernel, s.y.stride, s.y.dilation, s.y.before, s.y.before);
  }
  return s;
}

inline BNNSDataLayout random_convolution_layout(Random& r, const ConvolutionSize& s) {
  return kConvolutionLayouts[static_cast<size_t>(r.integer(0, s.groups == 1 ? 3 : 1))];
}

inline void keep_convolution_types(Case& c, std::initializer_list<const char*> names) {
  std::vector<TypeSet> kept;
  for (const TypeSet& t : c.types)
    for (const char* name : names)
      if (t.name == name) kept.push_back(t);
  c.types = kept;
}

// Layouts, types and all variations of memory on a few geometries.
inline void add_convolution_thorough(Suite& suite) {
  for (bool transposed : {false, true}) {
    const ConvolutionSize plain = {.transposed = transposed,
                                   .in_channels = 3,
                                   .out_channels = 5,
                                   .batch = 2,
                                   .x = convolution_axis(10, 3, 1, 1, 1, 1),
                                   .y = convolution_axis(4, 3, 1, 1, 1, 1)};
    const ConvolutionSize odd = {.transposed = transposed,
                                 .in_channels = 2,
                                 .out_channels = 33,
                                 .batch = 2,
                                 .x = convolution_axis(5, 2, 2, 3, 2, 1, 2),
                                 .y = convolution_axis(3, 3, 3, 1, 0, 2, 1)};
    for (BNNSDataLayout layout : kConvolutionLayouts)
      for (const ConvolutionSize& s : {plain, odd})
        suite.cases.push_back(convolution_case(s, layout, layout != kConvolutionLayouts[1]));
    ConvolutionSize grouped = plain;
    grouped.groups = 2;
    grouped.in_channels = 4;
    grouped.out_channels = 6;
    suite.cases.push_back(convolution_case(grouped, kConvolutionLayouts[0], true));
    grouped.x = convolution_axis(9, 3, 2, 1, 1, 1);
    grouped.y = convolution_axis(3, 1, 2, 1, 0, 0);
    suite.cases.push_back(convolution_case(grouped, kConvolutionLayouts[1], false));
    ConvolutionSize pointwise = plain;
    pointwise.x = convolution_axis(7, 1, 1, 1, 0, 0);
    pointwise.y = convolution_axis(5, 1, 1, 1, 0, 0);
    suite.cases.push_back(convolution_case(pointwise, kConvolutionLayouts[0], true));
  }
}

inline void add_convolution_random(Suite& suite) {
  Random random("convolution geometry");
  for (size_t n = 0; n < 240; ++n) {
    const ConvolutionSize s = random_convolution(random);
    Case c = convolution_case(s, random_convolution_layout(random, s), n % 3 != 0,
                              activation_rows()[n % 5 == 0 ? 1 : 0]);
    keep_convolution_types(c, {"f32", n % 4 == 0 ? "f16" : n % 4 == 1 ? "i8" : "bf16"});
    c.thorough = false;
    suite.cases.push_back(c);
  }
  for (size_t n = 0; n < 24; ++n) {
    ConvolutionSize s = random_convolution(random);
    s.x = convolution_axis(1 + n % 4, s.x.kernel, s.x.stride, s.x.dilation, s.x.before % 2, n % 2);
    s.y = convolution_axis(1 + n % 3, s.y.kernel, s.y.stride, 1, s.y.before % 2, 0);
    Case c = convolution_case(s, random_convolution_layout(random, s), n % 3 != 0);
    keep_convolution_types(c, {"f32"});
    c.thorough = false;
    c.gradient = true;
    suite.cases.push_back(c);
  }
}

inline void add_convolution_fused(Suite& suite) {
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    for (bool transposed : {false, true}) {
      const ConvolutionSize size = {.transposed = transposed,
                                    .in_channels = 2,
                                    .out_channels = 3,
                                    .batch = 2,
                                    .x = convolution_axis(transposed ? 4 : 9, 3, 2, 1, 1, 1),
                                    .y = convolution_axis(3, 2, 1, 1, 0, 1)};
      Case c = convolution_case(size, kConvolutionLayouts[0], true, row);
      keep_convolution_types(c, {"f32", "f16_f32", "bf16", "i8"});
      c.thorough = row.function == BNNSActivationFunctionSoftmax ||
                   row.function == BNNSActivationFunctionTanh;
      suite.cases.push_back(c);
      ConvolutionSize tiny = size;
      tiny.x = convolution_axis(2, 2, 2, 1, 1, 0);
      tiny.y = convolution_axis(2, 2, 1, 1, 0, 1);
      Case small = convolution_case(tiny, kConvolutionLayouts[2], true, row);
      keep_convolution_types(small, {"f32"});
      small.thorough = false;
      small.gradient = true;
      // Right of the minimum, where y tells x.
      if (row.function == BNNSActivationFunctionGELUApproximationSigmoid) {
        small.operands[2].fill = {-0.05, 0.05};
        small.operands[3].fill = {0.5, 2};
      }
      suite.cases.push_back(small);
    }
  }
}

// Large enough for several threads, blocks of rows, of depth and of channels.
inline void add_convolution_large(Suite& suite) {
  const auto square = [](size_t in, size_t out, size_t size, size_t kernel, size_t stride,
                         size_t pad, size_t batch, size_t groups = 1) {
    const ConvolutionAxisSize axis = {.large = size,
                                      .small = (size + 2 * pad - kernel) / stride + 1,
                                      .kernel = kernel,
                                      .stride = stride,
                                      .before = pad,
                                      .after = pad};
    return ConvolutionSize{.in_channels = in,
                           .out_channels = out,
                           .groups = groups,
                           .batch = batch,
                           .x = axis,
                           .y = axis};
  };
  for (ConvolutionSize s :
       {square(40, 21, 13, 3, 1, 1, 2), square(70, 9, 9, 1, 1, 0, 3), square(3, 18, 33, 7, 2, 3, 2),
        square(1, 32, 17, 3, 1, 1, 4), square(24, 24, 14, 3, 1, 1, 3, 24)}) {
    for (bool transposed : {false, true}) {
      s.transposed = transposed;
      Case c = convolution_case(s, kConvolutionLayouts[0], true);
      keep_convolution_types(c, {"f32"});
      c.thorough = false;
      suite.cases.push_back(c);
    }
  }
  for (const ConvolutionSize& s :
       {square(1, 32, 28, 3, 1, 1, 32), square(64, 64, 56, 3, 1, 1, 8),
        square(256, 64, 56, 1, 1, 0, 8), square(128, 128, 28, 3, 1, 1, 8, 128),
        square(3, 64, 224, 7, 2, 3, 4), square(8, 8, 16, 3, 1, 1, 1)}) {
    Case c = convolution_case(s, kConvolutionLayouts[0], true);
    c.speed = true;
    suite.cases.push_back(c);
  }
}

inline void add_convolution_cases(Suite& suite) {
  add_convolution_thorough(suite);
  add_convolution_random(suite);
  add_convolution_fused(suite);
  add_convolution_large(suite);
}

}  // namespace spec
#endif
