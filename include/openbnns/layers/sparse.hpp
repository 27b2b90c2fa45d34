// Sparse weights of a fully connected layer: how their elements are given.
#ifndef OPENBNNS_LAYERS_SPARSE_HPP
#define OPENBNNS_LAYERS_SPARSE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "../descriptor.hpp"
#include "../filter_parameters.hpp"
#include "../required.hpp"

namespace bnns {

namespace sparse_layout {

// Pairs of indices. Of a matrix whose rows are contiguous the column comes first.
struct Coo {
  Required<Descriptor, field::indices> indices;
};

// Column indices row by row, and where each row begins; one more start says where the last ends.
struct Csr {
  Required<Descriptor, field::column_indices> column_indices;
  Required<Descriptor, field::row_starts> row_starts;
};

}  // namespace sparse_layout

using SparseLayout = std::variant<sparse_layout::Coo, sparse_layout::Csr>;

enum class SparsityType : std::uint32_t { unstructured = BNNSSparsityTypeUnstructured };

// A hint: the result does not depend on it.
struct SparseParameters {
  struct Ratio {
    std::uint32_t numerator = 0, denominator = 0;  // 0 / 0: not said
  };

  SparsityType type = SparsityType::unstructured;
  Ratio ratio = {};
  BNNSTargetSystem target_system = BNNSTargetSystemGeneric;
};

struct SparsifyOptions {
  std::size_t batch_size = 1;
  Required<SparseLayout, field::input_layout> input_layout;
  Required<Descriptor, field::input_dense_shape> input_dense_shape;  // as the weights of the layer
  Required<Descriptor, field::input_values> input_values;
  // With data: memory as large as the dense matrix, for the packed form. Else it is allocated.
  Descriptor output = {};
  std::optional<SparseParameters> sparse_parameters = std::nullopt;
  std::span<std::byte> workspace = {};
  FilterParameters filter_parameters = {};
};

namespace detail {

inline int sparsify(const SparsifyOptions& options, BNNSNDArrayDescriptor& output,
                    const BNNSFilterParameters& native) {
  BNNSSparsityParameters hint = {};
  if (options.sparse_parameters) {
    hint.sparsity_type = static_cast<BNNSSparsityType>(options.sparse_parameters->type);
    hint.sparsity_ratio[0] = options.sparse_parameters->ratio.numerator;
    hint.sparsity_ratio[1] = options.sparse_parameters->ratio.denominator;
    hint.target_system = options.sparse_parameters->target_system;
  }
  const BNNSSparsityParameters* parameters = options.sparse_parameters ? &hint : nullptr;
  const Descriptor &shape = *options.input_dense_shape, &values = *options.input_values;
  if (const auto* coo = std::get_if<sparse_layout::Coo>(&*options.input_layout)) {
    return BNNSNDArrayFullyConnectedSparsifySparseCOO(
        &shape, &*coo->indices, &values, &output, parameters, options.batch_size,
        options.workspace.data(), options.workspace.size(), &native);
  }
  const auto& csr = std::get<sparse_layout::Csr>(*options.input_layout);
  return BNNSNDArrayFullyConnectedSparsifySparseCSR(
      &shape, &*csr.column_indices, &*csr.row_starts, &values, &output, parameters,
      options.batch_size, options.workspace.data(), options.workspace.size(), &native);
}

}  // namespace detail
}  // namespace bnns

#endif
