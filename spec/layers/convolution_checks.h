// Convolution: published vectors, the first-generation creator, and the error of long sums.
#ifndef OPENBNNS_SPEC_CONVOLUTION_CHECKS_H
#define OPENBNNS_SPEC_CONVOLUTION_CHECKS_H

#include "layers/convolution.h"
#include "runner/published.h"

namespace spec {

inline BNNSLayerParametersConvolution square_convolution(size_t in, size_t out, size_t kernel,
                                                         std::vector<float>& w) {
  BNNSLayerParametersConvolution p = {};
  p.i_desc = describe(image(in, in, 1), nullptr);
  p.o_desc = describe(image(out, out, 1), nullptr);
  p.w_desc = describe({BNNSDataLayoutConvolutionWeightsOIHW, {kernel, kernel, 1, 1}}, w.data());
  return p;
}

inline std::string check_published_convolution() {
  std::vector<float> w(4, 1), x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y(4);
  const BNNSLayerParametersConvolution p = square_convolution(3, 2, 2, w);
  BNNSFilter f = BNNSFilterCreateLayerConvolution(&p, nullptr);
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return status == 0 ? expect("out", y, {12, 16, 24, 28}) : failure();
}

inline std::string check_published_transposed_convolution() {
  std::vector<float> w(9, 1), x(4, 1), y(16);
  const BNNSLayerParametersConvolution p = square_convolution(2, 4, 3, w);
  BNNSFilter f = BNNSFilterCreateLayerTransposedConvolution(&p, nullptr);
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return status == 0 ? expect("out", y, {1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1})
                     : failure();
}

inline std::string check_first_generation_convolution() {
  // Two channels in, one out, kernel 2x1; rows and images are padded.
  std::vector<float> w = {1, 10, 100, 1000}, b = {0.5f}, y(6, -1);
  const std::vector<float> x = {1, 2, 3, -9, 4, 5, 6, -9, -9, 7, 8, 9, -9, 10, 11, 12};
  BNNSImageStackDescriptor in = {}, out = {};
  in.width = 3;
  in.height = out.height = 2;
  in.channels = 2;
  in.row_stride = 4;
  in.image_stride = 9;
  out.width = 2;
  out.channels = 1;
  out.row_stride = 3;
  out.image_stride = 6;
  in.data_type = out.data_type = BNNSDataTypeFloat32;
  BNNSConvolutionLayerParameters p = {};
  p.x_stride = p.y_stride = 1;
  p.k_width = 2;
  p.k_height = 1;
  p.in_channels = 2;
  p.out_channels = 1;
  p.weights.data = w.data();
  p.weights.data_type = BNNSDataTypeFloat32;
  p.bias.data = b.data();
  p.bias.data_type = BNNSDataTypeFloat32;
  BNNSFilter f = BNNSFilterCreateConvolutionLayer(&in, &out, &p, nullptr);
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  return expect("out", y, {8721.5, 9832.5, -1, 12054.5, 13165.5, -1});
}

// The error of long sums on uniform numbers, in eps of the sum of absolute products.
inline std::string check_convolution_sums() {
  constexpr size_t kOut = 5, kWidth = 6;
  for (size_t channels : {size_t{3}, size_t{32}, size_t{512}, size_t{6667}}) {
    Random random("convolution sums" + std::to_string(channels));
    const size_t terms = channels * 9;
    std::vector<float> w(terms * kOut), x(channels * 3 * (kWidth + 2)), y(kOut * kWidth);
    for (float& v : w) v = static_cast<float>(random.uniform(-1, 1));
    for (float& v : x) v = static_cast<float>(random.uniform(-1, 1));
    BNNSLayerParametersConvolution p = {};
    p.i_desc = describe(image(kWidth + 2, 3, channels), nullptr);
    p.o_desc = describe(image(kWidth, 1, kOut), nullptr);
    p.w_desc = describe({BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, channels, kOut}}, w.data());
    BNNSFilter f = BNNSFilterCreateLayerConvolution(&p, nullptr);
    if (!f) return failure();
    BNNSFilterApply(f, x.data(), y.data());
    BNNSFilterDestroy(f);
    double worst = 0;
    for (size_t o = 0; o < kOut; ++o) {
      for (size_t q = 0; q < kWidth; ++q) {
        double sum = 0, magnitude = 0;
        for (size_t t = 0; t < terms; ++t) {
          const size_t row = t / 3;  // of all channels
          const double product = double{w[o * terms + t]} * x[row * (kWidth + 2) + q + t % 3];
          sum += product;
          magnitude += std::abs(product);
        }
        worst = std::max(worst, std::abs(y[o * kWidth + q] - sum) / magnitude * 0x1p23);
      }
    }
    if (worst > 1) return std::to_string(terms) + " terms: error " + std::to_string(worst) + " eps";
  }
  return "";
}

inline void add_convolution_checks(Suite& suite) {
  suite.checks.insert(
      suite.checks.end(),
      {{"convolution/accuracy/sums", check_convolution_sums},
       {"convolution/published/window", check_published_convolution},
       {"transposed_convolution/published/ones", check_published_transposed_convolution},
       {"convolution/first_generation/padded", check_first_generation_convolution}});
}

}  // namespace spec
#endif
