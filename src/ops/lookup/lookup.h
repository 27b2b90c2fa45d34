// Elements of a table that indices choose. A place is one entry of the indices, or one row of
// coordinates; it chooses a slice of the table, and has a slice of the rows to itself:
//   gather   rows(place, s) = table(coordinates(place), s)
//   scatter  table(coordinates(place), s) = op(table(coordinates(place), s), rows(place, s))
// Both run over slices; scatter.h has the second. Places may run along axes of the table as well,
// where the indices have the shape of the rows. Indices are checked before anything is written.
#pragma once

#include <cstddef>

#include "core/axes.h"
#include "core/types.h"

namespace bnns::impl {

enum : size_t { kLookupIndices, kLookupTable, kLookupRows, kLookupTensors };
using LookupAxes = AxesOf<kLookupTensors>;

// A coordinate of the table that the indices give.
struct Lookup {
  ptrdiff_t index = 0;   // offset in the indices from the first coordinate of the same place
  size_t extent = 1;     // of the table
  ptrdiff_t stride = 0;  // of the table
};

// All offsets are in values. The order of the places is that in which duplicates take effect.
struct LookupProblem {
  BNNSDataType index_type = BNNSDataTypeInt32;  // an integer type of whole bytes
  BNNSDataType type = BNNSDataTypeFloat32;      // of table and rows
  LookupAxes places;                            // collapsed
  LookupAxes slice;                             // collapsed
  Lookup lookup[kMaxRank];
  size_t lookups = 0;
};

// Each points to the element whose coordinates are all 0.
struct LookupData {
  const void* indices;
  void* table;
  void* rows;
};

// Called for every place when its rows have been written, with the offsets of its two slices.
struct LookupFinish {
  void (*run)(const void* context, ptrdiff_t table, ptrdiff_t rows);
  const void* context;
};

// Throws an Error with this status if a coordinate lies outside the table: the first one in the
// order of the places. `name` is that of the indices in the message.
void require_coordinates(const LookupProblem& problem, size_t threads, const void* indices,
                         const char* name, int status);

// The coordinates must have been checked.
void run_gather(const LookupProblem& problem, size_t threads, const LookupData& data,
                const LookupFinish* finish = nullptr);

// Offsets in table and rows of the places [first, first + n).
void find_offsets(const LookupProblem& problem, const void* indices, size_t first, size_t n,
                  ptrdiff_t* table, ptrdiff_t* rows);

// Whether the slices are single runs without gaps, in table and rows.
inline bool has_contiguous_slices(const LookupProblem& problem) {
  const LookupAxes& slice = problem.slice;
  return slice.rank() == 0 || (slice.rank() == 1 && slice[0].stride[kLookupTable] == 1 &&
                               slice[0].stride[kLookupRows] == 1);
}

}  // namespace bnns::impl
