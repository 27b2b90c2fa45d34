// Descriptors of BNNSDirectApplyTopK and BNNSDirectApplyInTopK -> TopKProblem. Tensors pair up by
// logical coordinates, in any layout; `axis` is one of them (of a matrix: 0 for rows).
#include "layers/top_k.h"

#include <algorithm>

#include "core/call.h"
#include "core/filter.h"
#include "layers/reduced_axes.h"
#include "ops/top_k/top_k.h"

namespace bnns::impl {
namespace {

constexpr Name kInput = {"input.data", "input_batch_stride"};
constexpr Name kValues = {"best_values.data", "best_values_batch_stride"};
constexpr Name kIndices = {"best_indices.data", "best_indices_batch_stride"};
constexpr Name kTest = {"test_indices.data", "test_indices_batch_stride"};
constexpr Name kOutput = {"output.data", "output_batch_stride"};

Descriptor read_input(const TopKArgs& args) {
  require(args.input != nullptr, "input is NULL");
  const Descriptor input = read_float_tensor(*args.input, "input", Use::kInput);
  require(args.axis < input.rank(), "axis is ", args.axis, "; input has ", input.rank(), " axes");
  const size_t length = input.logical_extent(args.axis);
  require(args.k >= 1 && args.k <= length, "K is ", args.k, "; it must be from 1 to ", length,
          ", the size of input along axis ", args.axis);
  if (length > kMostValues) {
    fail_unsupported("input has ", length, " values along axis ", args.axis, "; at most ",
                     kMostValues, " are supported");
  }
  return input;
}

Descriptor read_integers(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor result = read_descriptor(given, field, use);
  require(result.type->is_integer() && result.type->bytes() > 0, field, ".data_type is ",
          result.type->name, "; it must be an integer type of whole bytes");
  require_plain_layout(result, field);
  require_data(result.view.data, result.view.type, Text(field, ".data").c_str());
  return result;
}

// The type must hold the index of the last value along the axis.
void require_wide_enough(const Descriptor& indices, size_t length) {
  const bool is_signed = indices.type->kind == TypeClass::kSigned;
  const size_t bits = indices.type->bits - (is_signed ? 1u : 0u);
  require(bits >= 64 || (length - 1) >> bits == 0, "best_indices.data_type is ", indices.type->name,
          "; it cannot hold the indices of ", length, " values");
}

// The best of an axis have the sizes of the input, but K along the axis.
void require_best_of(const Descriptor& best, const char* field, const Descriptor& input,
                     const TopKArgs& args) {
  bool fits = best.rank() == input.rank();
  for (size_t i = 0; fits && i < input.rank(); ++i)
    fits = best.logical_extent(i) == (i == args.axis ? args.k : input.logical_extent(i));
  if (!fits) {
    fail(field, " is ", describe(best), ", input is ", describe(input),
         "; the sizes must be equal, but ", args.k, " along axis ", args.axis);
  }
}

// Values of rows have the sizes of the input without the axis, or with 1 in its place.
void require_one_per_row(const Descriptor& values, const char* field, const Descriptor& input,
                         size_t axis) {
  const bool keeps = values.rank() == input.rank();
  bool fits = keeps || values.rank() + 1 == input.rank();
  for (size_t i = 0; fits && i < input.rank(); ++i) {
    if (i == axis) {
      fits = !keeps || values.logical_extent(i) == 1;
    } else {
      fits = values.logical_extent(keeps || i < axis ? i : i - 1) == input.logical_extent(i);
    }
  }
  if (!fits) {
    fail(field, " is ", describe(values), ", input is ", describe(input),
         "; the sizes must be equal, without axis ", axis);
  }
}

// The problem while its tensors are added one after the other.
class Builder {
 public:
  Builder(const TopKArgs& args, const Descriptor& input)
      : axis_(args.axis), input_(input), rank_(input.rank()) {
    problem_.k = args.k;
    problem_.length = input.logical_extent(axis_);
  }

  void add(size_t tensor, const Descriptor& d, const Batch& batch) {
    ptrdiff_t first = 0;  // of the element with all coordinates 0
    const bool removed = d.rank() < rank_;
    for (size_t i = 0; i < rank_; ++i) {
      if (removed && i == axis_) continue;
      const size_t own = removed && i > axis_ ? i - 1 : i;
      const auto stride = static_cast<ptrdiff_t>(d.logical_stride(own));
      const bool reversed = d.layout->rotated && own < 2;
      if (reversed) first += static_cast<ptrdiff_t>(d.logical_extent(own) - 1) * stride;
      stride_[i][tensor] = reversed ? -stride : stride;
    }
    step_[tensor] = static_cast<ptrdiff_t>(batch.step);
    batch_ = batch.size;
    const auto bytes = static_cast<ptrdiff_t>(d.type->bytes());
    problem_.tensor[tensor] = {.data = batch.at<char>(0) + first * bytes, .type = d.type->type};
  }

  TopKProblem finish() {
    const LayoutInfo& layout = *input_.layout;
    for (size_t k = 0; k < rank_; ++k) {
      const auto* coordinate = std::find(layout.tuple, layout.tuple + rank_, layout.pair[k]);
      const auto i = static_cast<size_t>(coordinate - layout.tuple);
      if (i == axis_) {
        problem_.along = stride_[i];
      } else {
        push(input_.logical_extent(i), stride_[i]);
      }
    }
    push(batch_, step_);
    return problem_;
  }

 private:
  void push(size_t extent, const AxesOffsets& stride) {
    problem_.rows.push_collapsed({.extent = extent, .reduced = false, .stride = stride});
  }

  size_t axis_;
  const Descriptor& input_;
  size_t rank_, batch_ = 1;
  AxesOffsets stride_[kMaxRank] = {}, step_ = {};
  TopKProblem problem_;
};

}  // namespace

void apply_top_k(const TopKArgs& args, const BNNSNDArrayDescriptor* best_values,
                 size_t values_stride, const BNNSNDArrayDescriptor* best_indices,
                 size_t indices_stride) {
  const FilterOptions options(args.filter_parameters);
  const Descriptor input = read_input(args);
  require(best_values != nullptr, "best_values is NULL");
  const Descriptor values = read_float_tensor(*best_values, "best_values", Use::kOutput);
  require_same_type(values, "best_values", input, "input");
  require_best_of(values, "best_values", input, args);
  Descriptor indices;
  const bool wants_indices = is_wanted(best_indices);
  if (wants_indices) {
    indices = read_integers(*best_indices, "best_indices", Use::kOutput);
    require_best_of(indices, "best_indices", input, args);
    require_wide_enough(indices, input.logical_extent(args.axis));
  }
  if (args.batch == 0) return;

  Call call(args.batch);
  Builder builder(args, input);
  builder.add(kTopKIn, input, call.reads(input, input.view.data, args.input_stride, kInput));
  builder.add(kTopKValues, values, call.writes(values, values.view.data, values_stride, kValues));
  if (wants_indices) {
    builder.add(kTopKIndices, indices,
                call.writes(indices, indices.view.data, indices_stride, kIndices));
  }
  call.check_overlaps();
  run_top_k(TopKRun(options.threads), options.memory, builder.finish());
}

void apply_in_top_k(const TopKArgs& args, const BNNSNDArrayDescriptor* test_indices,
                    size_t test_stride, const BNNSNDArrayDescriptor* output_given,
                    size_t output_stride) {
  const FilterOptions options(args.filter_parameters);
  const Descriptor input = read_input(args);
  require(test_indices != nullptr, "test_indices is NULL");
  require(output_given != nullptr, "output is NULL");
  const Descriptor test = read_integers(*test_indices, "test_indices", Use::kInput);
  const Descriptor output = read_descriptor(*output_given, "output", Use::kOutput);
  require(output.type->kind == TypeClass::kBoolean, "output.data_type is ", output.type->name,
          "; it must be Boolean");
  require_plain_layout(output, "output");
  require_data(output.view.data, output.view.type, "output.data");
  require_one_per_row(test, "test_indices", input, args.axis);
  require_one_per_row(output, "output", input, args.axis);
  if (args.batch == 0) return;

  Call call(args.batch);
  Builder builder(args, input);
  builder.add(kTopKIn, input, call.reads(input, input.view.data, args.input_stride, kInput));
  builder.add(kInTopKTest, test, call.reads(test, test.view.data, test_stride, kTest));
  builder.add(kInTopKOut, output, call.writes(output, output.view.data, output_stride, kOutput));
  call.check_overlaps();
  run_in_top_k(TopKRun(options.threads), builder.finish());
}

}  // namespace bnns::impl
