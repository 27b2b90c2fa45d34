// Gather and scatter along one axis, and with rows of coordinates (ND):
//   gather     out(.., i, ..) = in(.., index, ..)
//   scatter    out(.., index, ..) op= in(.., i, ..)
//   gatherND   out(p, s) = in(indices(p, :), s)
//   scatterND  out(indices(p, :), s) op= in(p, s)
// The index along the axis is indices(i), or indices(.., i, ..) if the indices have the shape of
// what runs over i. Axes are logical coordinates. Stored values are moved and combined as they are,
// without scale and bias. Places take effect in the order in which the indices lie in memory.
#include "layers/gather.h"

#include "core/error.h"
#include "core/filter.h"
#include "layers/lookup.h"
#include "ops/lookup/scatter.h"

namespace bnns::impl {
namespace {

constexpr size_t kNone = SharedCoordinate::kNone;

ScatterOp read_op(BNNSReduceFunction function) {
  require(function == BNNSReduceFunctionNone || function == BNNSReduceFunctionSum, "op is ",
          static_cast<uint32_t>(function),
          "; it must be BNNSReduceFunctionNone or BNNSReduceFunctionSum");
  return function == BNNSReduceFunctionSum ? ScatterOp::kSum : ScatterOp::kReplace;
}

// The tensors of a call: a gather reads the table and writes the rows, a scatter reads the rows and
// updates the table.
struct Tensors {
  bool scatters;
  FilterOptions options;
  Descriptor in, indices, out;
  LookupTensors at;

  const Descriptor& table() const { return scatters ? out : in; }
  const Descriptor& rows() const { return scatters ? in : out; }
  const char* table_name() const { return scatters ? "output" : "input"; }
  const char* rows_name() const { return scatters ? "input" : "output"; }
};

void read_field(const BNNSNDArrayDescriptor* given, const char* field, Use use, Descriptor& to) {
  require(given != nullptr, field, " is NULL");
  to = read_descriptor(*given, field, use);
}

Tensors read_tensors(bool scatters, const BNNSNDArrayDescriptor* input,
                     const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* output,
                     const BNNSFilterParameters* filter_parameters) {
  Tensors t = {.scatters = scatters,
               .options = FilterOptions(filter_parameters),
               .in = {},
               .indices = {},
               .out = {},
               .at = {}};
  read_field(input, "input", Use::kInput, t.in);
  read_field(indices, "indices", Use::kInput, t.indices);
  read_field(output, "output", Use::kOutput, t.out);
  require_stored_values(t.in, "input");
  require_stored_values(t.out, "output");
  require_indices(t.indices, "indices");
  require(t.in.type == t.out.type, "output.data_type is ", t.out.type->name,
          ", input.data_type is ", t.in.type->name, "; they must be equal");
  require_data(t.in.view.data, t.in.view.type, "input.data");
  require_data(t.indices.view.data, t.indices.view.type, "indices.data");
  require_data(t.out.view.data, t.out.view.type, "output.data");
  require_apart(range_of(t.out.view), "output.data", range_of(t.in.view), "input.data");
  require_apart(range_of(t.out.view), "output.data", range_of(t.indices.view), "indices.data");
  t.at = {.indices = logical_coordinates(t.indices),
          .table = logical_coordinates(t.table()),
          .rows = logical_coordinates(t.rows())};
  return t;
}

// ---- Along one axis ----

// Whether the extents of two tensors agree, but for one coordinate.
bool agree(const Coordinates& a, const Coordinates& b, size_t except) {
  bool equal = a.rank == b.rank;
  for (size_t i = 0; equal && i < a.rank; ++i) equal = i == except || a.extent[i] == b.extent[i];
  return equal;
}

void check_axis(const Tensors& t, size_t axis) {
  const auto& [indices, table, rows] = t.at;
  require(axis < table.rank, "axis is ", axis, "; ", t.table_name(), " has ", table.rank, " axes");
  if (!agree(table, rows, axis)) {
    fail(t.rows_name(), " is ", describe(t.rows()), ", ", t.table_name(), " is ",
         describe(t.table()), "; they must have the same logical sizes except along axis ", axis);
  }
  const bool line = indices.rank == 1 && indices.extent[0] == rows.extent[axis];
  if (!line && !agree(indices, rows, kNone)) {
    fail("indices is ", describe(t.indices), ", ", t.rows_name(), " is ", describe(t.rows()),
         "; indices must have one axis of ", rows.extent[axis], ", or the same logical sizes");
  }
}

void set_types(const Tensors& t, LookupProblem& p) {
  p.index_type = t.indices.view.type;
  p.type = t.in.view.type;
}

void set_axis_problem(const Tensors& t, size_t axis, LookupProblem& p) {
  const auto& [indices, table, rows] = t.at;
  set_types(t, p);
  p.lookup[p.lookups++] = {.extent = table.extent[axis], .stride = table.stride[axis]};
  if (indices.rank == 1) {
    p.places.push_collapsed(t.at.axis({.indices = 0, .rows = axis}, rows.extent[axis]));
    for (size_t k = 0; k < rows.rank; ++k) {
      const size_t i = rows.in_memory[k];
      if (i != axis) p.slice.push_collapsed(t.at.axis({.table = i, .rows = i}, rows.extent[i]));
    }
    return;
  }
  for (size_t k = 0; k < indices.rank; ++k) {
    const size_t i = indices.in_memory[k];
    p.places.push_collapsed(
        t.at.axis({.indices = i, .table = i == axis ? kNone : i, .rows = i}, rows.extent[i]));
  }
}

// ---- With rows of coordinates ----

// The last axis of the indices has a coordinate of the table for each of its first axes.
void check_nd(const Tensors& t) {
  const auto& [indices, table, rows] = t.at;
  const size_t places = indices.rank - 1, known = indices.extent[places];
  if (known > table.rank) {
    throw Error{.text = Text("indices is ", describe(t.indices), ", ", t.table_name(), " is ",
                             describe(t.table()),
                             "; the last axis of indices must not be longer than the other "
                             "has axes"),
                .status = kInconsistentShapes};
  }
  const size_t rank = places + table.rank - known;
  bool fits = rank == 0 ? t.rows().view.count == 1 : rows.rank == rank;
  for (size_t i = 0; fits && i < rank; ++i) {
    fits = rows.extent[i] == (i < places ? indices.extent[i] : table.extent[i - places + known]);
  }
  if (!fits) {
    throw Error{.text = Text(t.rows_name(), " is ", describe(t.rows()), ", indices is ",
                             describe(t.indices), ", ", t.table_name(), " is ", describe(t.table()),
                             "; ", t.rows_name(),
                             " must have the axes of indices but the last one, then those of ",
                             t.table_name(), " from axis ", known, " on"),
                .status = kInconsistentShapes};
  }
}

void set_nd_problem(const Tensors& t, LookupProblem& p) {
  const auto& [indices, table, rows] = t.at;
  set_types(t, p);
  const size_t last = indices.rank - 1, known = indices.extent[last];
  for (size_t l = 0; l < known; ++l)
    p.lookup[p.lookups++] = {.index = static_cast<ptrdiff_t>(l) * indices.stride[last],
                             .extent = table.extent[l],
                             .stride = table.stride[l]};
  for (size_t k = 0; k < indices.rank; ++k) {
    const size_t i = indices.in_memory[k];
    if (i != last) p.places.push_collapsed(t.at.axis({.indices = i, .rows = i}, indices.extent[i]));
  }
  if (table.rank == known) return;
  for (size_t k = 0; k < rows.rank; ++k) {
    const size_t i = rows.in_memory[k];
    if (i >= last)
      p.slice.push_collapsed(t.at.axis({.table = i - last + known, .rows = i}, rows.extent[i]));
  }
}

// ---- Both ----

LookupData data_of(const Tensors& t) {
  const auto& [indices, table, rows] = t.at;
  return {.indices = indices.first(t.indices.view.data, t.indices.view.type),
          .table = table.first(t.table().view.data, t.in.view.type),
          .rows = rows.first(t.rows().view.data, t.in.view.type)};
}

void run_gather_of(const Tensors& t, const LookupProblem& p) {
  const LookupData data = data_of(t);
  require_coordinates(p, t.options.threads, data.indices, "indices", kIndexOutOfRange);
  run_gather(p, t.options.threads, data);
}

void run_scatter_of(const Tensors& t, const LookupProblem& p, ScatterOp op) {
  const LookupData data = data_of(t);
  require(find_combine(op, p.type) != nullptr, "output.data_type is ", t.out.type->name,
          "; this op is not defined for it");
  require_coordinates(p, t.options.threads, data.indices, "indices", kIndexOutOfRange);
  const Array<uint64_t> scratch(t.options.memory, scatter_scratch(p));
  run_scatter(p, {.op = op}, t.options.threads, data, scratch.data());
}

}  // namespace

void gather(size_t axis, const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* indices,
            const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters) {
  const Tensors t = read_tensors(false, input, indices, output, filter_parameters);
  check_axis(t, axis);
  LookupProblem p;
  set_axis_problem(t, axis, p);
  run_gather_of(t, p);
}

void scatter(size_t axis, BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
             const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* output,
             const BNNSFilterParameters* filter_parameters) {
  const ScatterOp known = read_op(op);
  const Tensors t = read_tensors(true, input, indices, output, filter_parameters);
  check_axis(t, axis);
  LookupProblem p;
  set_axis_problem(t, axis, p);
  run_scatter_of(t, p, known);
}

void gather_nd(const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* indices,
               const BNNSNDArrayDescriptor* output, const BNNSFilterParameters* filter_parameters) {
  const Tensors t = read_tensors(false, input, indices, output, filter_parameters);
  check_nd(t);
  LookupProblem p;
  set_nd_problem(t, p);
  run_gather_of(t, p);
}

void scatter_nd(BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* output,
                const BNNSFilterParameters* filter_parameters) {
  const ScatterOp known = read_op(op);
  const Tensors t = read_tensors(true, input, indices, output, filter_parameters);
  check_nd(t);
  LookupProblem p;
  set_nd_problem(t, p);
  run_scatter_of(t, p, known);
}

}  // namespace bnns::impl
