// A case is a layer with fixed sizes, described to the runner by its operands, its reference and
// the three calls that create and apply it. The runner chooses strides, memory, threads, targets,
// flags and the wanted deltas.
//
// Convention for filters applied through the generic functions: operand 0 is in, 1 is out,
// weights_delta is the delta of operand 2 and bias_delta that of operand 3.
#ifndef OPENBNNS_SPEC_CASE_H
#define OPENBNNS_SPEC_CASE_H

#include <functional>
#include <string>
#include <vector>

#include <openbnns/bnns.h>

#include "runner/array.h"
#include "runner/dtype.h"
#include "runner/layout.h"
#include "runner/random.h"

namespace spec {

enum class Role { kIn, kOut, kParameter };  // a parameter exists once for the whole batch

// The range that the numbers of an operand are drawn from. They stay away from the kinks.
struct Fill {
  double lo = -2, hi = 2;
  std::vector<double> kinks = {};
  std::vector<double> choices = {};  // if not empty: only these are drawn

  double draw(Random& random) const;
  bool near_kink(double v, double margin = 0.05) const;
};

struct Operand {
  std::string name;
  Role role;
  Shape shape;
  Fill fill = {};
  bool has_delta = true;
  bool read_through_pointer = true;  // false: create() hands over the values itself
  bool contiguous = false;           // always dense: takes no strides
  bool packed = false;               // takes no batch stride either; its delta may have both
  bool once = false;                 // exists once for the whole batch, like a parameter
  bool like_in = false;              // has no descriptor; laid out like operand 0

  size_t samples(size_t batch) const { return once || role == Role::kParameter ? 1 : batch; }
};

enum class Need { kRequired, kOptional, kNone };  // optional: the library may refuse it

struct TypeSet {
  std::string name;
  std::vector<ElementType> types;  // one per operand
  Need forward = Need::kRequired;
  Need backward = Need::kRequired;
  bool float_deltas = false;  // deltas are Float32 whatever the types
  std::string shown = {};     // in the support table; empty: the name

  ElementType delta_type(size_t i) const { return float_deltas ? ElementType{} : types[i]; }
};

// One operand as it is handed to the library.
struct Argument {
  BNNSNDArrayDescriptor desc = {};
  size_t stride = 0;
  bool given = false;

  void* data() const { return given ? desc.data : nullptr; }
  BNNSNDArrayDescriptor* pointer() { return given ? &desc : nullptr; }
  // Filters ignore the data of in and out descriptors; a wild pointer proves it.
  BNNSNDArrayDescriptor shape_only() const {
    BNNSNDArrayDescriptor d = desc;
    d.data = reinterpret_cast<void*>(uintptr_t{16});
    return d;
  }
};

struct Call {
  size_t batch = 1;
  std::vector<Argument> value, delta;
  BNNSFilterParameters parameters = {};
  BNNSFilter filter = nullptr;
};

// One way of calling backward.
struct Backward {
  std::string name;  // "backward", "backward-x"
  Pass reference = {};
  bool pass_in = true;
  bool pass_out = false;
  std::vector<size_t> deltas = {};  // operands whose delta can be requested
  int in_needed_by = -1;            // in is passed only when this operand's delta is wanted
  bool refused = false;             // must fail and leave the deltas alone
  bool in_grad = true;              // the reference is the derivative of the forward pass
  bool needs_all = false;           // no delta may be left out
};

int apply_filter(Call& call);
int apply_filter_backward(Call& call);

struct Case {
  std::string layer, function, shape;
  std::vector<Operand> operands;
  size_t batch = 1;
  std::vector<TypeSet> types;

  Pass forward = {};
  std::vector<Backward> backward = {};

  std::function<BNNSFilter(Call&)> create = {};  // empty for a direct function
  std::function<int(Call&)> apply = apply_filter;
  std::function<int(Call&)> apply_backward = apply_filter_backward;

  bool thorough = true;             // run all variations of memory, not only a few
  bool integers_are_exact = false;  // small integers must give the exact result
  bool in_place = false;            // out may be in
  bool remembers = false;           // backward needs a forward call with the same parameters
  bool wide = false;                // element-wise: also run with large and special numbers
  bool gradient = false;            // part of `grad`
  bool speed = false;               // part of `bench`, not of `test`
  double flops = 0;                 // of one forward call

  std::string name() const { return layer + "/" + function + "/" + shape; }
};

// A test that is no case. Returns a description of the failure, or "".
struct Check {
  std::string name;
  std::function<std::string()> run;
};

struct Suite {
  std::vector<Case> cases;
  std::vector<Check> checks;
};

// The cases of all layers; all.cpp is generated from the list in CMakeLists.txt.
Suite all_layers();

template <class T>
Values<T> make_values(const Case& c) {
  Values<T> v{.batch = c.batch, .value = {}, .delta = {}};
  for (const Operand& o : c.operands) {
    v.value.emplace_back(o.shape, o.samples(c.batch));
    v.delta.emplace_back(o.shape, o.samples(c.batch));
  }
  return v;
}

inline TypeSet same_type(const Case& c, BNNSDataType type, Need backward) {
  return {.name = type_info(type).name,
          .types = std::vector<ElementType>(c.operands.size(), ElementType{.type = type}),
          .backward = backward};
}

}  // namespace spec
#endif
