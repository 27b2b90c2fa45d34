// Sums of products over named indices, the reference of matrix products and contractions:
//   C = beta old + alpha sum of A B     dA = alpha sum of dC B     dB = alpha sum of A dC
// All indices run through all their values. An operand that has the size 1 where the index is
// larger is repeated there, so that its gradient is summed; one that is weights belongs to all
// samples.
#ifndef OPENBNNS_SPEC_EINSUM_H
#define OPENBNNS_SPEC_EINSUM_H

#include <map>
#include <string>
#include <vector>

#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

// What the operands of a call are.
enum class Inputs { kTwo, kAWeights, kBWeights, kSame, kOne };

struct EinsumSettings {
  std::string a, b, out;  // a letter for each logical coordinate
  Shape a_shape, b_shape, out_shape;
  Inputs inputs = Inputs::kTwo;
  float alpha = 1;
  bool accumulate = false;  // beta is 1

  bool has_b() const { return inputs != Inputs::kSame && inputs != Inputs::kOne; }
  // Numbers of the operands in a case: the input, the output, then the other operand and what the
  // output held before.
  size_t a_operand() const { return inputs == Inputs::kAWeights ? 2 : 0; }
  size_t b_operand() const { return inputs == Inputs::kAWeights || !has_b() ? 0 : 2; }
  size_t old_operand() const { return has_b() ? 3 : 2; }
};

}  // namespace spec

namespace spec::reference {

class Einsum {
 public:
  explicit Einsum(const EinsumSettings& settings) : s(settings) {
    add(s.a, s.a_shape, kA);
    if (s.inputs != Inputs::kOne) add(s.b, s.inputs == Inputs::kSame ? s.a_shape : s.b_shape, kB);
    add(s.out, s.out_shape, kOut);
  }

  template <class T>
  void forward(Values<T>& v) const {
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<Sum<T>> sums(s.out_shape.count());
      for_all([&](const Place& p) {
        if (s.inputs == Inputs::kOne)
          sums[p.at[kOut]].add(a(v, b, p));
        else
          sums[p.at[kOut]].add(a(v, b, p), other(v, b, p));
      });
      for (size_t i = 0; i < sums.size(); ++i) {
        const T product = T(s.alpha) * sums[i].get();
        v.value[1](b, i) = s.accumulate ? v.value[s.old_operand()](b, i) + product : product;
      }
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    std::vector<std::vector<Sum<T>>> sums;
    for (const Array<T>& delta : v.delta) sums.emplace_back(delta.data().size());
    const auto sum = [&](size_t operand, size_t b, size_t at) -> Sum<T>& {
      const Array<T>& delta = v.delta[operand];
      return sums[operand][(delta.samples() == 1 ? 0 : b) * delta.count() + at];
    };
    for (size_t b = 0; b < v.batch; ++b) {
      for_all([&](const Place& p) {
        const T dy = v.delta[1](b, p.at[kOut]);
        if (s.inputs == Inputs::kOne) return sum(0, b, p.at[kA]).add(dy);
        sum(s.a_operand(), b, p.at[kA]).add(dy, other(v, b, p));
        sum(s.b_operand(), b, p.at[kB]).add(dy, a(v, b, p));
      });
    }
    for (const size_t operand : {s.a_operand(), s.b_operand()}) {
      for (size_t i = 0; i < sums[operand].size(); ++i)
        v.delta[operand].data()[i] = T(s.alpha) * sums[operand][i].get();
    }
  }

  // Multiplications of one sample.
  double terms() const {
    double n = 1;
    for (const Index_& i : indices_) n *= static_cast<double>(i.extent);
    return n;
  }

 private:
  enum { kA, kB, kOut, kTensors };
  struct Place {
    size_t at[kTensors] = {};
  };
  struct Index_ {
    size_t extent = 1;
    size_t step[kTensors] = {};
  };

  void add(const std::string& letters, const Shape& shape, size_t tensor) {
    const Index size = logical_size(shape);
    const LogicalMap map = logical_map(shape);
    for (size_t t = 0; t < letters.size(); ++t) {
      const auto [entry, is_new] = number_.try_emplace(letters[t], indices_.size());
      if (is_new) indices_.emplace_back();
      Index_& index = indices_[entry->second];
      index.extent = std::max(index.extent, size[t]);
      index.step[tensor] = size[t] == 1 ? 0 : static_cast<size_t>(map.step[t]);
    }
  }

  template <class Body>
  void for_all(const Body& body) const {
    for_all(0, Place(), body);
  }
  template <class Body>
  void for_all(size_t depth, Place place, const Body& body) const {
    if (depth == indices_.size()) return body(place);
    for (size_t i = 0; i < indices_[depth].extent; ++i) {
      for_all(depth + 1, place, body);
      for (size_t t = 0; t < kTensors; ++t) place.at[t] += indices_[depth].step[t];
    }
  }

  template <class T>
  static const T& value(const Values<T>& v, size_t operand, size_t b, size_t at) {
    const Array<T>& array = v.value[operand];
    return array(array.samples() == 1 ? 0 : b, at);
  }
  template <class T>
  const T& a(const Values<T>& v, size_t b, const Place& p) const {
    return value(v, s.a_operand(), b, p.at[kA]);
  }
  template <class T>
  const T& other(const Values<T>& v, size_t b, const Place& p) const {
    return value(v, s.b_operand(), b, p.at[kB]);
  }

  EinsumSettings s;
  std::map<char, size_t> number_;
  std::vector<Index_> indices_;
};

}  // namespace spec::reference

namespace spec {

// Where sample b lies; a batch stride of 0 is the packed step.
inline void* sample_of(const Argument& a, size_t b) {
  const size_t rank = static_cast<uint32_t>(a.desc.layout) >> 16 & 15;
  const Shape shape = {a.desc.layout, Index(a.desc.size, a.desc.size + rank)};
  size_t next = 1, step = a.stride;
  for (size_t k = 0; k < rank; ++k) {
    next = (a.desc.stride[k] == 0 ? next : a.desc.stride[k]) * shape.size[paired_axis(shape, k)];
    if (a.stride == 0) step = std::max(step, next);
  }
  return static_cast<char*>(a.desc.data) + b * step * type_info(a.desc.data_type).bytes;
}

// Calls on a filter that was made for these settings. What the output holds before is copied there.
inline int apply_einsum(Call& call, const EinsumSettings& s) {
  Argument &in = call.value[0], &out = call.value[1];
  if (s.accumulate) {
    Argument& old = call.value[s.old_operand()];
    for (size_t b = 0; b < call.batch; ++b) {
      BNNSNDArrayDescriptor to = out.desc, from = old.desc;
      to.data = sample_of(out, b);
      from.data = sample_of(old, b);
      if (const int status = BNNSCopy(&to, &from, nullptr); status != 0) return status;
    }
  }
  if (s.inputs != Inputs::kTwo) return apply_filter(call);
  Argument& second = call.value[2];
  if (call.batch == 1)
    return BNNSFilterApplyTwoInput(call.filter, in.data(), second.data(), out.data());
  return BNNSFilterApplyTwoInputBatch(call.filter, call.batch, in.data(), in.stride, second.data(),
                                      second.stride, out.data(), out.stride);
}

// An input that no wanted gradient is computed from is left out.
inline int apply_einsum_backward(Call& call, const EinsumSettings& s) {
  if (s.inputs != Inputs::kTwo) return apply_filter_backward(call);
  Argument &a = call.value[0], &b = call.value[2], &da = call.delta[0], &db = call.delta[2];
  const void* in_a = db.data() != nullptr ? a.desc.data : nullptr;
  const void* in_b = da.data() != nullptr ? b.desc.data : nullptr;
  return BNNSFilterApplyBackwardTwoInputBatch(call.filter, call.batch, in_a, a.stride, da.pointer(),
                                              da.stride, in_b, b.stride, db.pointer(), db.stride,
                                              nullptr, 0, call.delta[1].pointer(),
                                              call.delta[1].stride, nullptr, nullptr);
}

// All but the names and the creation of a case.
inline void fill_einsum_case(Case& c, const EinsumSettings& s, size_t batch) {
  const reference::Einsum layer(s);
  c.batch = batch;
  const bool swapped = s.inputs == Inputs::kAWeights;
  c.operands = {{.name = "in", .role = Role::kIn, .shape = swapped ? s.b_shape : s.a_shape},
                {.name = "out", .role = Role::kOut, .shape = s.out_shape}};
  if (s.has_b()) {
    c.operands.push_back({.name = s.inputs == Inputs::kTwo ? "inB" : "weights",
                          .role = s.inputs == Inputs::kTwo ? Role::kIn : Role::kParameter,
                          .shape = swapped ? s.a_shape : s.b_shape});
  }
  if (s.accumulate) {
    c.operands.push_back(
        {.name = "old", .role = Role::kIn, .shape = s.out_shape, .has_delta = false});
  }
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {{.name = "backward", .reference = [layer](auto& v) { layer.backward(v); }}};
  Backward& way = c.backward[0];
  way.deltas = {0};
  if (s.has_b()) way.deltas.push_back(2);
  if (s.inputs == Inputs::kAWeights || s.inputs == Inputs::kBWeights) way.in_needed_by = 2;
  way.pass_in = s.inputs != Inputs::kOne;
  way.needs_all = !s.has_b();
  c.apply = [s](Call& call) { return apply_einsum(call, s); };
  c.apply_backward = [s](Call& call) { return apply_einsum_backward(call, s); };
  c.integers_are_exact = true;
  c.flops = 2 * static_cast<double>(batch) * layer.terms();
}

// Every mix of types of the inputs and the output.
inline void add_einsum_types(Case& c, bool all) {
  constexpr BNNSDataType kTypes3[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                      BNNSDataTypeBFloat16};
  c.types.clear();
  for (const BNNSDataType a : kTypes3)
    for (const BNNSDataType b : kTypes3)
      for (const BNNSDataType out : kTypes3) {
        const bool same = a == b && b == out;
        if (!same && (!all || (c.operands.size() == 2 && b != a))) continue;
        TypeSet set = same_type(c, a, Need::kRequired);
        set.float_deltas = out != BNNSDataTypeBFloat16 || !same;
        for (size_t i = 1; i < set.types.size(); ++i) {
          const bool second = c.operands[i].name == "inB" || c.operands[i].name == "weights";
          set.types[i].type = second ? b : out;
        }
        if (!same) {
          set.shown = "any mix of them";
          set.name = std::string(type_info(a).name) + " x " + type_info(b).name + " to " +
                     type_info(out).name;
        }
        c.types.push_back(set);
      }
}

}  // namespace spec
#endif
