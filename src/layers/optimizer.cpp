#include "layers/optimizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/checked.h"
#include "core/call.h"
#include "core/filter.h"
#include "layers/optimizer_read.h"

namespace bnns::impl {
namespace {

// The tensors of one parameter are the parameter itself, its gradient and its states.
constexpr size_t kMaxTensors = 2 + kMaxOptimizerStates;

// A name such as "parameters[3]" for messages.
Text name_of(const char* array, size_t index) {
  return Text(array, '[', index, ']');
}

struct StepTensors {
  OptimizerArgs args;
  size_t states;  // number of states per parameter

  size_t tensors() const { return 2 + states; }
  const BNNSNDArrayDescriptor* at(size_t kind, size_t p) const {
    if (kind == 0) return args.parameters[p];
    return kind == 1 ? args.gradients[p] : args.accumulators[(kind - 2) * args.count + p];
  }
  Text name(size_t kind, size_t p) const {
    if (kind < 2) return name_of(kind == 0 ? "parameters" : "gradients", p);
    return name_of("accumulators", (kind - 2) * args.count + p);
  }
};

void check_arrays(const StepTensors& call) {
  const OptimizerArgs& args = call.args;
  // Every array of pointers must fit into an address space.
  constexpr size_t kMost = static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) /
                           (kMaxOptimizerStates * sizeof(void*));
  require(args.count <= kMost, "number_of_parameters is ", args.count,
          "; their arrays would be larger than an address space");
  require(args.parameters != nullptr, "parameters is NULL");
  require(args.gradients != nullptr, "gradients is NULL");
  require(call.states == 0 || args.accumulators != nullptr, "accumulators is NULL; with these ",
          "fields the function needs ", call.states, " for each of the parameters");
}

bool is_contiguous(const View& view) {
  size_t packed = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    if (view.extent[k] > 1 && view.stride[k] != packed) return false;
    packed *= view.extent[k];
  }
  return true;
}

Descriptor read_tensor(const BNNSNDArrayDescriptor& given, const char* name) {
  const Descriptor result = read_descriptor(given, name, Use::kInput);
  require_plain_layout(result, name);
  require(result.view.is_float(), name, ".data_type is ", result.type->name,
          "; it must be Float32");
  require(is_contiguous(result.view), name, " is ", describe(result),
          " with gaps or overlaps between its elements; it must be contiguous");
  return result;
}

// The number of elements of a plain Float32 tensor with default strides, the common case, without
// reading the whole descriptor; 0 for other tensors.
size_t packed_count(const BNNSNDArrayDescriptor& given) {
  const LayoutInfo* layout = find_layout(given.layout);
  if (layout == nullptr || layout->packed32 || layout->opaque) return 0;
  if (given.data_type != BNNSDataTypeFloat32) return 0;
  size_t count = 1;
  for (size_t k = 0; k < layout->rank; ++k) {
    if (given.stride[k] != 0 || __builtin_mul_overflow(count, given.size[k], &count)) return 0;
  }
  constexpr size_t kMost = static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max());
  return count <= kMost / sizeof(float) ? count : 0;
}

size_t read_count(const StepTensors& call, size_t kind, size_t p) {
  const BNNSNDArrayDescriptor* given = call.at(kind, p);
  if (given == nullptr) fail(call.name(kind, p), " is NULL");
  const size_t packed = packed_count(*given);
  if (packed != 0) return packed;
  return read_tensor(*given, call.name(kind, p).c_str()).view.count;
}

// Checks all tensors of parameter p.
void check_parameter(const StepTensors& call, size_t p) {
  const size_t count = read_count(call, 0, p);
  for (size_t kind = 0; kind < call.tensors(); ++kind) {
    if (read_count(call, kind, p) != count) {
      const Text name = call.name(kind, p), parameter = call.name(0, p);
      fail(name, " is ", describe(read_tensor(*call.at(kind, p), name.c_str())), ", but ",
           parameter, " is ", describe(read_tensor(*call.at(0, p), parameter.c_str())),
           "; they must have the same number of elements");
    }
    const void* data = call.at(kind, p)->data;
    if (data == nullptr || reinterpret_cast<uintptr_t>(data) % alignof(float) != 0)
      require_data(data, BNNSDataTypeFloat32, Text(call.name(kind, p), ".data").c_str());
  }
}

// The number of elements of a descriptor that has passed the checks.
size_t count_of(const BNNSNDArrayDescriptor& given) {
  size_t count = 1;
  for (size_t k = 0; k < find_layout(given.layout)->rank; ++k) count *= given.size[k];
  return count;
}

// ---- Overlap ----

bool is_written(size_t kind) {
  return kind != 1;  // all but the gradients
}

TensorRange range_of(const StepTensors& step, size_t kind, size_t p, size_t count) {
  const auto* begin = static_cast<const char*>(step.at(kind, p)->data);
  return {.range = {begin, begin + count * sizeof(float)},
          .tensor = p * kMaxTensors + kind,
          .written = is_written(kind)};
}

[[noreturn]] void fail_overlap(const StepTensors& step, size_t a, size_t b) {
  const auto name = [&](size_t tensor) {
    return step.name(tensor % kMaxTensors, tensor / kMaxTensors);
  };
  fail(name(a), " and ", name(b), " overlap in memory; they must be separate");
}

void require_all_apart(const StepTensors& step, TensorRange* ranges, size_t n) {
  const Overlap overlap = find_overlap(ranges, n);
  if (overlap.first != nullptr) fail_overlap(step, overlap.first->tensor, overlap.second->tensor);
}

// A hash table of the written tensors of kWindow consecutive parameters, by their first address.
class Beginnings {
 public:
  static constexpr size_t kWindow = 2048;

  explicit Beginnings(const StepTensors& step) : step_(step) {}

  // Adds a tensor; fails if another one begins at the same address.
  void add(const TensorRange& range) {
    const size_t first = range.tensor / (kWindow * kMaxTensors) * (kWindow * kMaxTensors);
    if (range.tensor == first) std::fill_n(slots_, kSlots, uint16_t{0});
    // Fibonacci hashing: the product's upper bits depend on all bits of the address.
    const auto address = reinterpret_cast<uintptr_t>(range.range.begin);
    size_t at = (uint64_t{address} * 0x9E3779B97F4A7C15u) >> (64 - kBits);
    for (; slots_[at] != 0; at = (at + 1) % kSlots) {
      const size_t other = first + slots_[at] - 1u;
      if (step_.at(other % kMaxTensors, other / kMaxTensors)->data == range.range.begin)
        fail_overlap(step_, other, range.tensor);
    }
    slots_[at] = static_cast<uint16_t>(range.tensor - first + 1);
  }

 private:
  static constexpr size_t kBits = 14, kSlots = size_t{1} << kBits;
  static_assert(kWindow * (kMaxTensors - 1) <= kSlots / 2, "half of the slots stay empty");
  static_assert(kWindow * kMaxTensors <= std::numeric_limits<uint16_t>::max());

  const StepTensors& step_;
  uint16_t slots_[kSlots] = {};
};

constexpr size_t kCompleteCheck = 64;

void check_overlaps_of_few(const StepTensors& step) {
  TensorRange ranges[kCompleteCheck * kMaxTensors];
  size_t n = 0;
  for (size_t p = 0; p < step.args.count; ++p) {
    const size_t count = count_of(*step.args.parameters[p]);
    for (size_t kind = 0; kind < step.tensors(); ++kind)
      ranges[n++] = range_of(step, kind, p, count);
  }
  require_all_apart(step, ranges, n);
}

void check_overlaps_of_many(const StepTensors& step) {
  Beginnings beginnings(step);
  const size_t tensors = step.tensors();
  for (size_t p = 0; p < step.args.count; ++p) {
    TensorRange ranges[2 * kMaxTensors];
    size_t n = 0;
    for (size_t q = p; q < std::min(p + 2, step.args.count); ++q) {
      const size_t count = count_of(*step.args.parameters[q]);
      for (size_t kind = 0; kind < tensors; ++kind) ranges[n++] = range_of(step, kind, q, count);
    }
    for (size_t kind = 0; kind < tensors; ++kind)
      if (is_written(kind)) beginnings.add(ranges[kind]);
    require_all_apart(step, ranges, n);
  }
}

OptimizerTensor tensor_at(const void* context, size_t p) {
  const StepTensors& call = *static_cast<const StepTensors*>(context);
  OptimizerTensor tensor = {.rows = {.w = static_cast<float*>(call.at(0, p)->data),
                                     .g = static_cast<const float*>(call.at(1, p)->data),
                                     .state = {}},
                            .count = count_of(*call.at(0, p))};
  for (size_t s = 0; s < call.states; ++s)
    tensor.rows.state[s] = static_cast<float*>(call.at(2 + s, p)->data);
  return tensor;
}

}  // namespace

void step_optimizer(BNNSOptimizerFunction function, const void* fields, const OptimizerArgs& args,
                    const BNNSFilterParameters* filter_parameters) {
  const FilterOptions options(filter_parameters);
  const OptimizerProblem problem = read_optimizer(function, fields);
  if (args.count == 0) return;
  const StepTensors call = {.args = args, .states = optimizer_states(problem.rule)};
  check_arrays(call);
  for (size_t p = 0; p < args.count; ++p) check_parameter(call, p);
  if (args.count <= kCompleteCheck) {
    check_overlaps_of_few(call);
  } else {
    check_overlaps_of_many(call);
  }
  run_optimizer(problem, *optimizer_kernels(), options.threads,
                {.count = args.count, .at = tensor_at, .context = &call});
}

}  // namespace bnns::impl
