// BNNSBandPart: output(i, j) = input(i, j) where i - j <= num_lower and j - i <= num_upper, else 0;
// a negative number sets no limit. Row i and column j are the two axes of the smallest strides,
// further axes count matrices. The column is the faster one of the two, except in ColumnMajorMatrix
// and LastMajor layouts, whose coordinates begin with (i, j).
#include "layers/band_part.h"

#include "core/call.h"
#include "core/filter.h"
#include "layers/stored_values.h"
#include "ops/movement/band.h"

namespace bnns::impl {
namespace {

Descriptor read_matrices(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor result = read_stored_values(given, field, use);
  require(result.rank() >= 2, field, ".layout is ", result.layout->name,
          "; matrices have at least two axes");
  require(!result.layout->rotated, field, ".layout is ", result.layout->name,
          "; rotated weights are no matrices here");
  const Text data(field, ".data");
  require_data(given.data, result.view.type, data.c_str());
  return result;
}

bool row_is_fastest(const Descriptor& d) {
  return d.layout->layout == BNNSDataLayoutColumnMajorMatrix ||
         (static_cast<uint32_t>(d.layout->layout) & 0xFFFF) == 0x8000;
}

}  // namespace

void band_part(int num_lower, int num_upper, const BNNSNDArrayDescriptor* input,
               const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters) {
  require(input != nullptr, "input is NULL");
  require(output != nullptr, "output is NULL");
  const FilterOptions options(filter_parameters);
  const Descriptor in = read_matrices(*input, "input", Use::kInput);
  const Descriptor out = read_matrices(*output, "output", Use::kOutput);
  require_equal_types(out, "output", in, "input");
  // Where both are matrices, rows and columns are paired, whatever the order of memory.
  const bool turned = row_is_fastest(in) != row_is_fastest(out);
  bool fits = in.rank() == out.rank() && (!turned || in.rank() == 2);
  BandProblem problem = {.move = {},
                         .below = row_is_fastest(out) ? num_upper : num_lower,
                         .above = row_is_fastest(out) ? num_lower : num_upper};
  for (size_t k = 0; fits && k < in.rank(); ++k) {
    const size_t from = turned ? 1 - k : k;
    fits = in.view.extent[from] == out.view.extent[k];
    problem.move.push(
        {.extent = out.view.extent[k], .from = in.view.stride[from], .to = out.view.stride[k]});
  }
  if (!fits) {
    fail("output is ", describe(out), ", input is ", describe(in),
         "; they must hold the same matrices");
  }
  require_apart(range_of(out.view), "output.data", range_of(in.view), "input.data");
  run_band(options.threads, in.type->bytes(), problem, in.view.data, out.view.data);
}

}  // namespace bnns::impl
