// The packed form of a sparse matrix, which the sparsify functions write and a filter reads. It
// passes through the hands of the client, so that nothing in it is trusted: what a filter uses is
// its own copy, checked after it was made.
//   header    32 bytes: kind and version, type, sizes, a check of the header and one of the rest
//   places    one bit for each element of the dense matrix, row by row: bit e % 64 of 64-bit word
//             e / 64 is 1 if element e is stored
//   values    the stored elements in the same order, in their own type
// A bit cannot lie outside of the matrix or stand twice, whatever the bytes are; only the number of
// bits has to be counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "core/types.h"

namespace bnns::impl {

struct SparseShape {
  BNNSDataType type;
  size_t rows, columns, nonzeros;

  size_t elements() const { return rows * columns; }
  size_t place_words() const { return (elements() + 63) / 64; }
};

// Byte-sized floating-point and integer types of at most 32 bits.
bool is_sparse_type(const TypeInfo& type);

// Bytes of the packed form; refuses sizes beyond its limits.
size_t packed_bytes(const SparseShape& shape);

// Writes the packed form of matrix `shape` to `to`, which need not be aligned. `values` has whole
// elements of its type in the order of the places.
void write_pack(const SparseShape& shape, const uint64_t* places, const void* values, void* to);

// Refuses what is no packed matrix; `field` names it. Reads 4 bytes, and more only if these are
// right; behind the header nothing is read.
SparseShape read_pack_header(const void* pack, const char* field);

// A copy of the places and values of a pack, which passed all checks.
class SparsePack {
 public:
  SparsePack(const Memory& memory, const void* pack, const char* field);

  const SparseShape& shape() const { return shape_; }
  const uint64_t* places() const { return content_.data(); }
  void* values() const { return content_.data() + shape_.place_words(); }

 private:
  SparseShape shape_;
  Array<uint64_t> content_;
};

}  // namespace bnns::impl
