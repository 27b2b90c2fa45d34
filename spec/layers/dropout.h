// y = x / (1 - rate) where the element is kept, 0 where it is dropped; dx from dy alike. The
// decisions of the first call of a filter with a seed are those of docs/random.md, so that the
// reference can draw them too.
#ifndef OPENBNNS_SPEC_DROPOUT_H
#define OPENBNNS_SPEC_DROPOUT_H

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "runner/case.h"
#include "runner/shapes.h"

namespace spec::reference {

using PhiloxBlock = std::array<uint32_t, 4>;

// Philox4x32 with ten rounds, as published.
inline PhiloxBlock philox(PhiloxBlock x, uint64_t key) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

struct Dropout {
  float rate = 0;
  uint32_t seed = 1;
  uint8_t control = 0;

  // Whether decision `number` of call `call` keeps its elements.
  bool keeps(uint64_t call, uint64_t number) const {
    const uint64_t block = number / 4;
    const PhiloxBlock words =
        philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 3, 0},
               (uint64_t{seed} << 32) + call);
    return words[number % 4] >= std::floor(static_cast<double>(rate) * 4294967296.0);
  }

  // The number of the decision for each element of a sample, in memory order; elements that differ
  // in shared axes only have the same one. Returns how many there are.
  size_t number(const Shape& shape, std::vector<size_t>& numbers) const {
    numbers.assign(shape.count(), 0);
    std::vector<size_t> step(shape.rank(), 0);
    size_t count = 1;
    for (size_t k = 0; k < shape.rank(); ++k) {  // by memory axis, the fastest first
      const size_t axis = paired_axis(shape, k);
      if (axis < 4 && (control >> axis & 1) != 0) continue;
      step[axis] = count;
      count *= shape.size[axis];
    }
    for (size_t e = 0; e < numbers.size(); ++e) {
      const Index i = size_index(shape, e);
      for (size_t axis = 0; axis < shape.rank(); ++axis) numbers[e] += i[axis] * step[axis];
    }
    return count;
  }

  template <class T>
  void pass(const Array<T>& from, Array<T>& to, const Shape& in) const {
    std::vector<size_t> numbers;
    const size_t count = number(in, numbers);
    const T scale = T(1) / T(1 - static_cast<double>(rate));
    for (size_t b = 0; b < from.samples(); ++b)
      for (size_t e = 0; e < from.count(); ++e)
        to(b, e) = keeps(0, b * count + numbers[e]) ? from(b, e) * scale : T(0);
  }
};

}  // namespace spec::reference

namespace spec {

inline Case dropout_case(const Shape& in, const Shape& out, size_t batch,
                         const reference::Dropout& layer) {
  Case c{.layer = "dropout", .function = "dropout", .shape = tag(in, batch)};
  if (out.layout != in.layout) c.shape += "_to_" + tag(out);
  c.shape += "_r" + std::to_string(static_cast<int>(std::lround(layer.rate * 1000)));
  c.shape += "_c" + std::to_string(layer.control) + "_s" + std::to_string(layer.seed);
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in},
                {.name = "out", .role = Role::kOut, .shape = out}};
  c.batch = batch;
  c.forward = [=](auto& v) { layer.pass(v.value[0], v.value[1], in); };
  c.backward = {{.name = "backward",
                 .reference = [=](auto& v) { layer.pass(v.delta[1], v.delta[0], in); },
                 .pass_in = false,
                 .deltas = {0},
                 .needs_all = true}};
  c.create = [=](Call& call) {
    const BNNSLayerParametersDropout p = {.i_desc = call.value[0].shape_only(),
                                          .o_desc = call.value[1].shape_only(),
                                          .rate = layer.rate,
                                          .seed = layer.seed,
                                          .control = layer.control};
    return BNNSFilterCreateLayerDropout(&p, &call.parameters);
  };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired)};
  c.in_place = in.layout == out.layout;
  c.remembers = true;
  c.integers_are_exact = layer.rate == 0.5f || layer.rate == 0.75f || layer.rate == 0;
  return c;
}

inline void add_dropout_types(Case& c) {
  constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                      BNNSDataTypeBFloat16};
  c.types.clear();
  for (const BNNSDataType in : kFloats)
    for (const BNNSDataType out : kFloats) {
      TypeSet set = same_type(c, in, Need::kRequired);
      set.types[1].type = out;
      set.float_deltas = in != BNNSDataTypeBFloat16 || out != in;
      if (in != out) {
        set.name = std::string(type_info(in).name) + " to " + type_info(out).name;
        set.shown = "any mix of them";
      }
      c.types.push_back(set);
    }
}

inline std::string check_published_philox() {
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  constexpr reference::PhiloxBlock kZero = {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
  constexpr reference::PhiloxBlock kOne = {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
  const bool right = reference::philox({0, 0, 0, 0}, 0) == kZero &&
                     reference::philox({kOnes, kOnes, kOnes, kOnes}, ~uint64_t{0}) == kOne;
  return right ? "" : "the reference's Philox does not give the published numbers";
}

inline void add_dropout(Suite& suite) {
  const auto add = [&](const Shape& in, size_t batch, const reference::Dropout& layer) -> Case& {
    return suite.cases.emplace_back(dropout_case(in, in, batch, layer));
  };
  suite.checks.push_back({"dropout/published/philox", check_published_philox});
  const Shape chw = image(7, 5, 3);
  add_dropout_types(add(chw, 2, {.rate = 0.5f, .seed = 7}));
  add(image(3, 2, 2), 2, {.rate = 0.3f, .seed = 1}).gradient = true;
  add(image(3, 2, 2), 2, {.rate = 0.3f, .seed = 1, .control = 3}).gradient = true;
  for (const uint8_t control : {1, 2, 3, 4, 5, 6, 7, 8})
    add(chw, 3, {.rate = 0.5f, .seed = 12345, .control = control});
  // Other orders of axes, among them more than the four that control can name.
  add({BNNSDataLayoutRowMajorMatrix, {37, 9}}, 2, {.rate = 0.5f, .seed = 3, .control = 2});
  add({BNNSDataLayout2DFirstMajor, {9, 37}}, 2, {.rate = 0.5f, .seed = 3, .control = 2});
  add({BNNSDataLayout3DFirstMajor, {4, 3, 33}}, 2, {.rate = 0.75f, .seed = 4, .control = 5});
  add({BNNSDataLayoutConvolutionWeightsIOHrWr, {3, 2, 5, 4}}, 1,
      {.rate = 0.25f, .seed = 5, .control = 9});
  add({BNNSDataLayout5DLastMajor, {2, 3, 2, 3, 4}}, 2, {.rate = 0.5f, .seed = 6, .control = 0xFA});
  suite.cases.push_back(dropout_case(chw, {BNNSDataLayout3DFirstMajor, {3, 5, 7}}, 2,
                                     {.rate = 0.5f, .seed = 8, .control = 2}));
  for (const float rate : {0.0f, 0.1f, 0.9f, 0.99999994f})
    add(vector_of(131), 3, {.rate = rate, .seed = 0xFFFFFFFF}).thorough = false;
  for (size_t n = 1; n <= 70; ++n) {  // around the vector widths, and the 32 bits of a word
    add(vector_of(n), 1 + n % 3, {.rate = 0.5f, .seed = 9}).thorough = false;
    add(image(n, 3, 2), 1 + n % 2, {.rate = 0.5f, .seed = 9, .control = 1}).thorough = false;
  }
  add(image(61, 53, 47), 1, {.rate = 0.5f, .seed = 10}).thorough = false;  // several threads
  add(image(61, 53, 47), 1, {.rate = 0.5f, .seed = 10, .control = 3}).thorough = false;
  add(vector_of(1 << 20), 1, {.rate = 0.5f, .seed = 11}).speed = true;
}

}  // namespace spec
#endif
