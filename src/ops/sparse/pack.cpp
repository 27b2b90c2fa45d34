#include "ops/sparse/pack.h"

#include <bit>
#include <cstring>
#include <limits>

#include "core/checked.h"

namespace bnns::impl {
namespace {

struct Header {
  static constexpr uint32_t kMagic = 0x3153424F;  // "OBS1"; the last digit is the version

  uint32_t magic = kMagic;
  uint32_t type = 0;
  uint32_t rows = 0, columns = 0;
  uint64_t nonzeros = 0;
  uint32_t content_check = 0;
  uint32_t header_check = 0;  // of all before it
};
static_assert(sizeof(Header) == 32);

// Notices bytes that changed by accident. It is no protection against those who mean it; these are
// stopped by what is checked beside it.
uint32_t check_of(const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  uint64_t hash = bytes + 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
  }
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

size_t content_bytes(const SparseShape& s) {
  return 8 * s.place_words() + s.nonzeros * type_bytes(s.type);
}

}  // namespace

bool is_sparse_type(const TypeInfo& type) {
  return (type.kind == TypeClass::kFloat || type.is_integer()) && type.bits >= 8 && type.bits <= 32;
}

size_t packed_bytes(const SparseShape& s) {
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  require(s.rows <= kMost && s.columns <= kMost, "the matrix has ", s.rows, " rows and ", s.columns,
          " columns; a packed one has at most ", kMost, " of each");
  return sizeof(Header) + content_bytes(s);  // below 2^62 * 4.2
}

void write_pack(const SparseShape& s, const uint64_t* places, const void* values, void* to) {
  auto* bytes = static_cast<char*>(to);
  char* content = bytes + sizeof(Header);
  std::memcpy(content, places, 8 * s.place_words());
  std::memcpy(content + 8 * s.place_words(), values, s.nonzeros * type_bytes(s.type));
  Header h = {.type = static_cast<uint32_t>(s.type),
              .rows = static_cast<uint32_t>(s.rows),
              .columns = static_cast<uint32_t>(s.columns),
              .nonzeros = s.nonzeros,
              .content_check = check_of(content, content_bytes(s))};
  h.header_check = check_of(&h, offsetof(Header, header_check));
  std::memcpy(bytes, &h, sizeof h);
}

namespace {

Header read_header(const void* pack, const char* field) {
  Header h;
  std::memcpy(&h.magic, pack, sizeof h.magic);
  require(h.magic == Header::kMagic, field,
          " is not what a sparsify function of this version wrote; its first bytes are wrong");
  std::memcpy(&h, pack, sizeof h);
  require(
      h.magic == Header::kMagic && h.header_check == check_of(&h, offsetof(Header, header_check)),
      field, " was changed after a sparsify function wrote it; the check of its header fails");
  return h;
}

SparseShape shape_of(const Header& h, const char* field) {
  const SparseShape s = {.type = static_cast<BNNSDataType>(h.type),
                         .rows = h.rows,
                         .columns = h.columns,
                         .nonzeros = h.nonzeros};
  const TypeInfo* type = find_type(s.type);
  constexpr uint32_t kMost = std::numeric_limits<int32_t>::max();
  const bool right = type != nullptr && is_sparse_type(*type) && h.rows > 0 && h.columns > 0 &&
                     h.rows <= kMost && h.columns <= kMost && h.nonzeros <= s.elements();
  require(right, field, " has a header that no sparsify function writes: type ", h.type, ", ",
          h.rows, " rows, ", h.columns, " columns, ", h.nonzeros, " values");
  return s;
}

}  // namespace

SparseShape read_pack_header(const void* pack, const char* field) {
  return shape_of(read_header(pack, field), field);
}

SparsePack::SparsePack(const Memory& memory, const void* pack, const char* field) {
  const Header h = read_header(pack, field);
  shape_ = shape_of(h, field);
  const size_t bytes = content_bytes(shape_);
  content_ = Array<uint64_t>(memory, div_up(bytes, 8));
  std::memcpy(content_.data(), static_cast<const char*>(pack) + sizeof(Header), bytes);
  require(check_of(content_.data(), bytes) == h.content_check, field,
          " was changed after a sparsify function wrote it; the check of its content fails");
  size_t count = 0;
  for (size_t i = 0; i < shape_.place_words(); ++i)
    count += static_cast<size_t>(std::popcount(content_[i]));
  const size_t last = shape_.elements() % 64;
  const bool inside = last == 0 || content_[shape_.place_words() - 1] >> last == 0;
  require(inside && count == shape_.nonzeros, field, " marks ", count, " places",
          inside ? "" : ", some of them behind the last element", ", but has ", shape_.nonzeros,
          " values");
}

}  // namespace bnns::impl
