// Cases of reductions: layouts, sizes, types, zeros among the factors, gradients; published sums.
#ifndef OPENBNNS_SPEC_REDUCTION_CASES_H
#define OPENBNNS_SPEC_REDUCTION_CASES_H

#include "layers/reduction.h"
#include "runner/published.h"

namespace spec {

// The shape with size 1 where a bit of `mask` is set.
inline Shape without(const Shape& shape, uint32_t mask) {
  Shape result = shape;
  for (size_t i = 0; i < shape.rank(); ++i)
    if ((mask >> i & 1) != 0) result.size[i] = 1;
  return result;
}

inline void add_reduction_layouts(Suite& suite) {
  const Index logical = {5, 3, 4, 2, 2, 3, 1, 2};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    for (const Shape& in : shapes_of_rank(rank, size)) {
      if (is_pack32(in.layout)) continue;
      for (uint32_t mask = 0; mask < (1u << rank); ++mask) {
        if (rank > 3 && mask % 37 != 5 && mask % 11 != 2) continue;
        const ReductionRow& row =
            kReductions[hash(tag(in)) % 16 + mask < 16 ? hash(tag(in)) % 16 + mask
                                                       : (hash(tag(in)) + mask) % 16];
        Case c = reduction_case(row, in, without(in, mask), mask % 2 == 1, 1 + mask % 3);
        c.thorough = false;
        suite.cases.push_back(c);
        // Extrema depend on the order of the elements.
        c = reduction_case(kReductions[mask % 4], in, without(in, mask), mask % 3 == 1, 2);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
  }
  // Another layout of the output, whose sizes pair up by entry of size[].
  for (const BNNSDataLayout from :
       {BNNSDataLayout4DFirstMajor, BNNSDataLayout4DLastMajor, BNNSDataLayoutConvolutionWeightsOIHW,
        BNNSDataLayoutConvolutionWeightsOIHrWr, BNNSDataLayoutConvolutionWeightsIOHrWr}) {
    for (const BNNSDataLayout to : {BNNSDataLayout4DFirstMajor, BNNSDataLayout4DLastMajor,
                                    BNNSDataLayoutConvolutionWeightsOIHrWr}) {
      for (uint32_t mask = 1; mask < 16; ++mask) {
        const Shape in = {from, {3, 4, 5, 2}};
        Shape out = without(in, mask);
        out.layout = to;
        Case c = reduction_case(kReductions[mask % 4], in, out, mask % 2 == 1, 2);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
  }
}

// Around the vector widths, and sizes that are cut into grains, blocks and parts.
inline void add_reduction_sizes(Suite& suite) {
  const auto add = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  for (size_t n = 1; n <= 70; ++n) {
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {n, 1 + n * 7 % 11}};
    for (size_t f = n % 2; f < std::size(kReductions); f += 2)
      for (uint32_t mask = 1; mask < 4; ++mask)
        add(reduction_case(kReductions[f], rows, without(rows, mask), (n + f + mask) % 3 == 0));
  }
  const Shape tall{BNNSDataLayoutRowMajorMatrix, {3, 3001}};
  const Shape wide{BNNSDataLayoutRowMajorMatrix, {1030, 11}};
  const Shape strided{BNNSDataLayout3DFirstMajor, {40, 23, 17}};
  const Shape few{BNNSDataLayoutRowMajorMatrix, {256, 1100}};
  for (size_t f = 0; f < std::size(kReductions); ++f) {
    const ReductionRow& row = kReductions[f];
    if (row.function == BNNSReduceFunctionProduct) continue;  // overflows, see the next
    const bool weighted = f % 2 == 1;
    add(reduction_case(row, tall, without(tall, 2), weighted));
    add(reduction_case(row, tall, without(tall, 2), !weighted));
    add(reduction_case(row, wide, without(wide, 1), weighted));
    add(reduction_case(row, wide, without(wide, 2), !weighted));
    add(reduction_case(row, strided, without(strided, 2), !weighted, 2));
    add(reduction_case(row, strided, without(strided, 5), weighted));
  }
  for (const size_t f : {0, 3, 6, 13}) {
    add(reduction_case(kReductions[f], vector_of(40001), vector_of(1), false));
    if (f == 3 || f == 6) add(reduction_case(kReductions[f], few, without(few, 2), false));
  }
  add(reduction_case(kReductions[6], vector_of(40001), vector_of(1), true));
  const Shape powers{BNNSDataLayoutRowMajorMatrix, {130, 60}};
  for (const uint32_t mask : {1u, 2u, 3u}) {
    Case c = reduction_case(kReductions[14], powers, without(powers, mask), false);
    c.operands[0].fill = {.choices = {2, -0.5, 1, 4, -1, 0.25}};
    add(c);
  }
}

// Zeros among the factors: the gradient is the product of the others.
inline void add_reduction_zeros(Suite& suite) {
  for (const uint32_t mask : {1u, 2u}) {
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {6, 5}};
    for (const bool weighted : {false, true}) {
      Case c = reduction_case(kReductions[14], rows, without(rows, mask), weighted, 3);
      c.shape += "_zeros";
      c.operands[0].fill = {.choices = {0, -1.5, 1, 2, 0.5, -1}};
      if (weighted) c.operands[2].fill = {.choices = {0, -1, 1, 2, 0.5, 4}};
      c.integers_are_exact = !weighted;
      suite.cases.push_back(c);
    }
  }
}

inline void add_reduction_gradients(Suite& suite) {
  const Shape image_of_few = image(3, 2, 4);
  for (const ReductionRow& row : kReductions) {
    if (!row.gradient) continue;
    for (const uint32_t mask : {1u, 2u, 5u, 7u}) {
      for (const bool weighted : {false, true}) {
        Case c = reduction_case(row, image_of_few, without(image_of_few, mask), weighted, 2);
        if (weighted && row.function == BNNSReduceFunctionMeanNonZero)
          c.operands[2].fill = {.lo = 0.5, .hi = 2};
        c.shape += "_gradient";
        c.gradient = true;
        c.thorough = mask == 5;
        suite.cases.push_back(c);
      }
    }
  }
}

inline std::string check_published_reductions() {
  const Shape matrix{BNNSDataLayoutRowMajorMatrix, {3, 3}};
  std::vector<float> x = {1, 4, 7, 2, 5, 8, 3, 6, 9};
  const std::pair<Index, std::vector<double>> published[] = {
      {{1, 3}, {12, 15, 18}}, {{3, 1}, {6, 15, 24}}, {{1, 1}, {45}}};
  for (const auto& [size, sums] : published) {
    std::vector<float> y(sums.size());
    BNNSLayerParametersReduction p = {};
    p.i_desc = describe(matrix, x.data());
    p.o_desc = describe({BNNSDataLayoutRowMajorMatrix, size}, y.data());
    p.reduce_func = BNNSReduceFunctionSum;
    if (BNNSDirectApplyReduction(&p, nullptr) != 0) return failure();
    const std::string problem = expect("out", y, sums);
    if (!problem.empty()) return problem;
  }
  return "";
}

inline void add_reduction_cases(Suite& suite) {
  const Shape small{BNNSDataLayout3DFirstMajor, {3, 5, 7}};
  for (const ReductionRow& row : kReductions) {
    for (const bool weighted : {false, true}) {
      for (const uint32_t mask : {1u, 4u}) {
        Case c = reduction_case(row, small, without(small, mask), weighted, 2);
        c.types.clear();
        add_reduction_types(c, row, true);
        suite.cases.push_back(c);
        suite.cases.push_back(direct_reduction_case(row, small, without(small, mask), weighted));
      }
    }
  }
  for (const uint32_t mask : {1u, 2u}) {  // gradients in BFloat16
    Case c = reduction_case(kReductions[12], small, without(small, mask), false, 2);
    c.shape += "_deltas";
    c.types = {reduction_types(c, BNNSDataTypeBFloat16, BNNSDataTypeBFloat16)};
    c.types[0].float_deltas = false;
    suite.cases.push_back(c);
  }
  add_reduction_layouts(suite);
  add_reduction_sizes(suite);
  add_reduction_zeros(suite);
  add_reduction_gradients(suite);
  suite.checks.push_back({"reduction/published/sum", check_published_reductions});
  const Shape square{BNNSDataLayoutRowMajorMatrix, {1024, 1024}};
  for (const size_t f : {0, 2, 4, 6, 12, 13})
    for (const uint32_t mask : {1u, 2u, 3u}) {
      Case c = reduction_case(kReductions[f], square, without(square, mask), false);
      c.speed = true;
      suite.cases.push_back(c);
    }
}

}  // namespace spec
#endif
