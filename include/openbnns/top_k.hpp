// The best values along an axis, and the nearest neighbours of samples.
#ifndef OPENBNNS_TOP_K_HPP
#define OPENBNNS_TOP_K_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "filter_parameters.hpp"
#include "form.hpp"
#include "required.hpp"

namespace bnns {

// The k largest values along an axis in descending order, and their indices. Axes are counted by
// logical coordinates: of a matrix, 0 is the axis of rows.
struct TopKOptions {
  Required<std::size_t, field::k> k;
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::best_values> best_values;
  std::optional<Descriptor> best_indices = std::nullopt;  // of any integer type
  Required<std::size_t, field::axis> axis;
  FilterParameters filter_parameters = {};
};

inline void apply_top_k(std::size_t batch_size, const TopKOptions& options) {
  constexpr const char* kOperation = "apply_top_k";
  detail::require(batch_size > 0, Error::Code::invalid_argument, kOperation, "batch_size is 0");
  detail::require_samples(options.input, batch_size, kOperation, "input");
  detail::require_samples(options.best_values, batch_size, kOperation, "best_values");
  Descriptor values = *options.best_values;
  std::optional<Descriptor> indices = options.best_indices;
  if (indices) detail::require_samples(*indices, batch_size, kOperation, "best_indices");
  const BNNSFilterParameters native = detail::native(options.filter_parameters);
  detail::check(BNNSDirectApplyTopK(options.k, options.axis, batch_size, &*options.input,
                                    detail::batch_stride(options.input), &values,
                                    detail::batch_stride(values), detail::pointer_or_null(indices),
                                    indices ? detail::batch_stride(*indices) : 0, &native),
                Error::Code::layer_apply_fail, kOperation);
}

// Whether the tested value of every row is one of its k largest.
struct InTopKOptions {
  Required<std::size_t, field::k> k;
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::test_indices> test_indices;  // the sizes of input without the axis
  Required<Descriptor, field::output> output;              // likewise, Boolean
  Required<std::size_t, field::axis> axis;
  FilterParameters filter_parameters = {};
};

inline void apply_in_top_k(std::size_t batch_size, const InTopKOptions& options) {
  constexpr const char* kOperation = "apply_in_top_k";
  detail::require(batch_size > 0, Error::Code::invalid_argument, kOperation, "batch_size is 0");
  for (const auto& [name, array] : {detail::NamedArgument{"input", *options.input},
                                    detail::NamedArgument{"test_indices", *options.test_indices},
                                    detail::NamedArgument{"output", *options.output}}) {
    detail::require_samples(array, batch_size, kOperation, name);
  }
  Descriptor output = *options.output;
  const BNNSFilterParameters native = detail::native(options.filter_parameters);
  detail::check(BNNSDirectApplyInTopK(options.k, options.axis, batch_size, &*options.input,
                                      detail::batch_stride(options.input), &*options.test_indices,
                                      detail::batch_stride(options.test_indices), &output,
                                      detail::batch_stride(output), &native),
                Error::Code::layer_apply_fail, kOperation);
}

struct NearestNeighborsOptions {
  Required<std::size_t, field::capacity> capacity;                // samples at most
  Required<std::size_t, field::dimension_count> dimension_count;  // values of a sample
  Required<std::size_t, field::neighbor_count> neighbor_count;    // the sample itself is the first
  BNNSDataType data_type = BNNSDataTypeFloat32;
  FilterParameters filter_parameters = {};
};

// A table of samples that finds the nearest neighbours of each. It is moved, not copied; one that
// was moved from has no samples, and its calls throw.
class NearestNeighbors {
 public:
  explicit NearestNeighbors(const NearestNeighborsOptions& options)
      : dimension_count_(options.dimension_count),
        neighbor_count_(options.neighbor_count),
        data_type_(options.data_type) {
    constexpr const char* kOperation = "NearestNeighbors";
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    table_.reset(BNNSCreateNearestNeighbors(number(options.capacity, kOperation, "capacity"),
                                            number(dimension_count_, kOperation, "dimension_count"),
                                            number(neighbor_count_, kOperation, "neighbor_count"),
                                            data_type_, &native));
    if (!table_) {
      throw Error(Error::Code::unable_to_create_layer, kOperation,
                  detail::in_cpp_names(OpenBNNSGetLastError()));
    }
  }

  BNNSNearestNeighbors native_handle() const noexcept { return table_.get(); }
  std::size_t sample_count() const noexcept { return table_ ? sample_count_ : 0; }

  // Adds all samples of a contiguous array, whose last values are those of one sample.
  void append(const Descriptor& samples) {
    constexpr const char* kOperation = "NearestNeighbors::append";
    require_ready(kOperation);
    const std::size_t count = count_of(samples, data_type_, kOperation, "samples");
    detail::require(count % dimension_count_ == 0, Error::Code::invalid_argument, kOperation,
                    "samples has ", count, " values; a sample has ", dimension_count_);
    const std::size_t n = count / dimension_count_;
    detail::check(
        BNNSNearestNeighborsLoad(table_.get(), number(n, kOperation, "samples"), samples.data),
        Error::Code::layer_apply_fail, kOperation);
    sample_count_ += n;
  }

  // The neighbours of one sample, or without an index of all: neighbor_count entries each, in
  // ascending distance. Missing ones have index -1 and distance infinity. Indices are Int32,
  // distances have the type of the samples; either may be left out.
  void apply(std::optional<std::size_t> index, const std::optional<Descriptor>& output_indices,
             const std::optional<Descriptor>& output_distances) const {
    constexpr const char* kOperation = "NearestNeighbors::apply";
    require_ready(kOperation);
    detail::require(!index || *index < sample_count_, Error::Code::invalid_argument, kOperation,
                    "index is ", index.value_or(0), "; there are ", sample_count_, " samples");
    const std::size_t rows = index ? 1 : sample_count_;
    const auto data = [&](const std::optional<Descriptor>& output, BNNSDataType type,
                          const char* name) -> void* {
      if (!output) return nullptr;
      const std::size_t count = count_of(*output, type, kOperation, name);
      detail::require(count == rows * neighbor_count_, Error::Code::invalid_argument, kOperation,
                      name, " has ", count, " values; there are ", rows * neighbor_count_);
      return output->data;
    };
    auto* indices = static_cast<int*>(data(output_indices, BNNSDataTypeInt32, "output_indices"));
    void* distances = data(output_distances, data_type_, "output_distances");
    const int sample = index ? static_cast<int>(*index) : -1;
    detail::check(BNNSNearestNeighborsGetInfo(table_.get(), sample, indices, distances),
                  Error::Code::layer_apply_fail, kOperation);
  }

 private:
  void require_ready(const char* operation) const {
    detail::require(table_ != nullptr, Error::Code::invalid_argument, operation,
                    "the table was moved from");
  }

  static unsigned number(std::size_t value, const char* operation, const char* name) {
    detail::require(value <= std::numeric_limits<unsigned>::max(), Error::Code::invalid_argument,
                    operation, name, " is ", value, "; it must be below 2^32");
    return static_cast<unsigned>(value);
  }

  // Values of a contiguous array, all samples of its memory included.
  static std::size_t count_of(const Descriptor& array, BNNSDataType type, const char* operation,
                              const char* name) {
    detail::require_data(array, operation, name);
    detail::require(array.data_type == type, Error::Code::invalid_argument, operation, name,
                    " does not have the data type of the table");
    const Shape shape = shape_of(array);
    detail::require(shape.batch_stride() == shape.dense_count(), Error::Code::invalid_argument,
                    operation, name, " is not contiguous");
    return detail::multiply(shape.dense_count(), array.batch_size == 0 ? 1 : array.batch_size,
                            operation);
  }

  struct Destroy {
    void operator()(void* table) const noexcept { BNNSDestroyNearestNeighbors(table); }
  };
  std::size_t dimension_count_, neighbor_count_, sample_count_ = 0;
  BNNSDataType data_type_;
  std::unique_ptr<void, Destroy> table_;
};

}  // namespace bnns

#endif
