#include "mps/archive.h"

#include <bit>
#include <cstring>
#include <map>
#include <string_view>

#include "mps/error.h"

namespace bnns::impl::mps {
namespace {

constexpr std::string_view kMagic = "MPSKARC1";

enum Type : uint8_t {
  kBool = 1,
  kU32 = 2,
  kI32 = 3,
  kU64 = 4,
  kI64 = 5,
  kF32 = 6,
  kString = 7,
};

// Bytes of a payload; 0 for a string, which says its own length, and for unknown types.
constexpr size_t payload_bytes(uint8_t type) {
  constexpr size_t kBytes[] = {0, 1, 4, 4, 8, 8, 4, 0};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

// The checksum of zlib, bit by bit: archives are short.
uint32_t crc32(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

// Whether the text is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80       ? 1
                          : lead >> 5 == 6  ? 2
                          : lead >> 4 == 14 ? 3
                          : lead >> 3 == 30 ? 4
                                            : 0;
    if (length == 0 || length > text.size() - i) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return false;
    i += length;
  }
  return true;
}

class Writer final : public Fields {
 public:
  explicit Writer(std::string_view class_name) {
    append(kMagic);
    put(class_name.size(), 2);
    append(class_name);
    count_at_ = bytes_.size();
    put(0, 2);
  }

  void field(const char* key, bool& value) override { entry(key, kBool, value); }
  void field(const char* key, uint32_t& value) override { entry(key, kU32, value); }
  void field(const char* key, int32_t& value) override {
    entry(key, kI32, static_cast<uint32_t>(value));
  }
  void field(const char* key, uint64_t& value) override { entry(key, kU64, value); }
  void field(const char* key, int64_t& value) override {
    entry(key, kI64, static_cast<uint64_t>(value));
  }
  void field(const char* key, float& value) override {
    entry(key, kF32, std::bit_cast<uint32_t>(value));
  }
  void field(const char* key, std::string& value) override {
    require(is_utf8(value), ErrorCode::InvalidArgument, "Kernel::encode: ", key, " is not UTF-8");
    require(value.size() < kLargestArchive, ErrorCode::InvalidArgument, "Kernel::encode: ", key,
            " has ", value.size(), " bytes; an archive has at most ", kLargestArchive);
    begin(key, kString);
    put(value.size(), 2);
    append(value);
  }

  std::vector<std::byte> finish() {
    bytes_[count_at_] = static_cast<std::byte>(count_ & 255);
    bytes_[count_at_ + 1] = static_cast<std::byte>(count_ >> 8);
    put(crc32(bytes_), 4);
    require(bytes_.size() <= kLargestArchive, ErrorCode::InvalidArgument,
            "Kernel::encode: the archive has ", bytes_.size(), " bytes; at most ", kLargestArchive);
    return std::move(bytes_);
  }

 private:
  void entry(const char* key, Type type, uint64_t value) {
    begin(key, type);
    put(value, payload_bytes(type));
  }
  void begin(std::string_view key, Type type) {
    ++count_;
    put(key.size(), 1);
    append(key);
    put(type, 1);
  }
  void put(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(value >> 8 * i));
  }
  void append(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }

  std::vector<std::byte> bytes_;
  size_t count_at_ = 0, count_ = 0;
};

class Reader final : public Fields {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view class_name) : rest_(bytes) {
    if (bytes.size() > kLargestArchive) fail_corrupt("it has more than 64 KiB");
    if (bytes.size() < kMagic.size() + 4) fail_corrupt("it is too short");
    if (text(kMagic.size()) != kMagic) fail_corrupt("its first bytes are not MPSKARC1");
    uint64_t crc = 0;
    for (size_t i = 0; i < 4; ++i)
      crc |= static_cast<uint64_t>(bytes[bytes.size() - 4 + i]) << 8 * i;
    if (crc != crc32(bytes.first(bytes.size() - 4))) fail_corrupt("its CRC-32 is wrong");
    rest_ = rest_.first(rest_.size() - 4);
    if (text(number(2)) != class_name) fail_corrupt("it holds a kernel of another class");
    read_entries(number(2));
    if (!rest_.empty()) fail_corrupt("there are bytes behind its last entry");
  }

  void field(const char* key, bool& value) override {
    const uint64_t number = take_number(key, kBool);
    if (number > 1) fail_corrupt(std::string(key) + " is neither 0 nor 1");
    value = number == 1;
  }
  void field(const char* key, uint32_t& value) override {
    value = static_cast<uint32_t>(take_number(key, kU32));
  }
  void field(const char* key, int32_t& value) override {
    value = static_cast<int32_t>(take_number(key, kI32));
  }
  void field(const char* key, uint64_t& value) override { value = take_number(key, kU64); }
  void field(const char* key, int64_t& value) override {
    value = static_cast<int64_t>(take_number(key, kI64));
  }
  void field(const char* key, float& value) override {
    value = std::bit_cast<float>(static_cast<uint32_t>(take_number(key, kF32)));
  }
  void field(const char* key, std::string& value) override {
    const Entry entry = take(key, kString);
    if (!is_utf8(entry.text)) fail_corrupt(std::string(key) + " is not UTF-8");
    value = entry.text;
  }

  void finish() const {
    if (!entries_.empty()) fail_corrupt("it has an unknown key");
  }

 private:
  struct Entry {
    uint8_t type;
    uint64_t number = 0;
    std::string_view text;  // in the bytes of the archive
  };

  std::string_view text(size_t length) {
    if (length > rest_.size()) fail_corrupt("it is shorter than its fields say");
    const auto* begin = reinterpret_cast<const char*>(rest_.data());
    rest_ = rest_.subspan(length);
    return {begin, length};
  }
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    const std::string_view digits = text(bytes);
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<uint8_t>(digits[i])} << 8 * i;
    return value;
  }
  void read_entries(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view key = text(number(1));
      Entry entry{.type = static_cast<uint8_t>(number(1))};
      if (entry.type == kString) {
        entry.text = text(number(2));
      } else {
        if (payload_bytes(entry.type) == 0) fail_corrupt("it has an entry of an unknown type");
        entry.number = number(payload_bytes(entry.type));
      }
      if (!entries_.emplace(key, entry).second) fail_corrupt("it has a key twice");
    }
  }
  Entry take(const char* key, Type type) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) fail_corrupt(std::string(key) + " is missing");
    const Entry entry = found->second;
    if (entry.type != type) fail_corrupt(std::string(key) + " has the wrong type");
    entries_.erase(found);
    return entry;
  }
  uint64_t take_number(const char* key, Type type) { return take(key, type).number; }

  std::span<const std::byte> rest_;
  std::map<std::string_view, Entry> entries_;
};

}  // namespace

void fail_corrupt(const std::string& reason) {
  fail(ErrorCode::CorruptArchive, "decode: the archive is not valid: ", reason);
}

std::vector<std::byte> write_archive(const char* class_name, const Visit& visit) {
  Writer writer(class_name);
  visit(writer);
  return writer.finish();
}

void read_archive(std::span<const std::byte> bytes, const char* class_name, const Visit& visit) {
  Reader reader(bytes, class_name);
  visit(reader);
  reader.finish();
}

}  // namespace bnns::impl::mps
