#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>

#include "openbnns/train/error.hpp"
#include "train/files/input_file.h"
#include "train/files/json_reader.h"
#include "train/files/safetensors.h"
#include "train/files/safetensors_format.h"

namespace bnns::train::impl {
namespace {

// A tensor as the header states it, about 112 bytes; the name is a piece of the header's text.
struct Entry {
  std::string_view name;
  DType dtype = DType::f32;
  std::uint8_t rank = 0;
  std::array<std::size_t, kMaxRank> shape = {};
  std::uint64_t begin = 0, end = 0;

  std::span<const std::size_t> sizes() const { return std::span(shape).first(rank); }
};

struct Text {
  std::string_view key;
  JsonString value;
};

// Deques grow without a copy of what they hold.
struct Header {
  std::deque<Entry> entries;
  std::deque<Text> texts;
};

[[noreturn]] void refuse(const std::string& where, const std::string& text) {
  throw Error(Error::Kind::model, where, text);
}

std::string numbers(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
}

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where)
      : reader_(text, where, Error::Kind::model, {.bytes = kMaxHeaderBytes, .depth = 3}) {}

  Header read() {
    bool has_metadata = false;
    reader_.object([&](const JsonString& key) {
      if (key.raw == kMetadata) {
        if (std::exchange(has_metadata, true)) reader_.fail("__metadata__ appears twice");
        read_metadata();
      } else {
        check_name(key);
        if (header_.entries.size() == kMaxTensors) {
          reader_.fail("more than " + std::to_string(kMaxTensors) + " tensors");
        }
        header_.entries.push_back(read_entry(key.raw));
      }
    });
    reader_.finish();
    return std::move(header_);
  }

 private:
  void check_name(const JsonString& name) {
    const std::string problem = name_problem(name.raw);
    if (!problem.empty()) reader_.fail(problem);
  }

  void read_metadata() {
    reader_.object([&](const JsonString& key) {
      check_name(key);
      if (header_.texts.size() == kMaxTexts) {
        reader_.fail("more than " + std::to_string(kMaxTexts) + " texts in __metadata__");
      }
      header_.texts.push_back({key.raw, reader_.string()});
    });
  }

  Entry read_entry(std::string_view name) {
    Entry entry{.name = name};
    bool has_dtype = false, has_shape = false, has_offsets = false;
    const auto once = [&](bool& seen, const char* field) {
      if (std::exchange(seen, true)) reader_.fail(std::string(field) + " appears twice");
    };
    reader_.object([&](const JsonString& field) {
      if (field.raw == "dtype") {
        once(has_dtype, "dtype");
        entry.dtype = read_dtype();
      } else if (field.raw == "shape") {
        once(has_shape, "shape");
        read_shape(entry);
      } else if (field.raw == "data_offsets") {
        once(has_offsets, "data_offsets");
        read_offsets(entry);
      } else {
        reader_.fail("field " + in_quotes(field.raw) +
                     " of a tensor; it has only dtype, shape and data_offsets");
      }
    });
    if (!has_dtype || !has_shape || !has_offsets) {
      reader_.fail("tensor " + in_quotes(name) + " has no " +
                   (!has_dtype   ? "dtype"
                    : !has_shape ? "shape"
                                 : "data_offsets"));
    }
    check_size(entry);
    return entry;
  }

  DType read_dtype() {
    const JsonString name = reader_.string();
    const std::optional<DType> dtype = dtype_named(name.raw);
    if (!dtype) {
      reader_.fail("dtype " + in_quotes(name.raw) +
                   " is not supported; BOOL, U8, I32, I64, F16, BF16, F32 and F64 are");
    }
    return *dtype;
  }

  void read_shape(Entry& entry) {
    reader_.array([&] {
      const std::uint64_t size = reader_.unsigned_integer();
      if (entry.rank == kMaxRank) {
        reader_.fail("more than " + std::to_string(kMaxRank) + " dimensions in shape");
      }
      if (!std::in_range<std::size_t>(size)) {
        reader_.fail("size " + std::to_string(size) + " in shape is too large for this system");
      }
      entry.shape[entry.rank++] = static_cast<std::size_t>(size);
    });
  }

  void read_offsets(Entry& entry) {
    int count = 0;
    reader_.array([&] {
      const std::uint64_t offset = reader_.unsigned_integer();
      if (count == 2) reader_.fail("data_offsets has more than two numbers");
      (count++ == 0 ? entry.begin : entry.end) = offset;
    });
    if (count != 2) reader_.fail("data_offsets has fewer than two numbers");
    if (entry.begin > entry.end) {
      reader_.fail("data_offsets is " + numbers(entry.begin, entry.end) +
                   "; the second must not be below the first");
    }
  }

  void check_size(const Entry& entry) {
    const std::optional<std::size_t> bytes = bytes_of(entry.dtype, entry.sizes());
    const std::string tensor = "tensor " + in_quotes(entry.name);
    if (!bytes) reader_.fail(tensor + ": the product of its sizes does not fit into 63 bits");
    if (entry.end - entry.begin != *bytes) {
      reader_.fail(tensor + ": data_offsets is " + numbers(entry.begin, entry.end) + ", that is " +
                   std::to_string(entry.end - entry.begin) + " bytes; type and shape need " +
                   std::to_string(*bytes));
    }
  }

  JsonReader reader_;
  Header header_;
};

// Positions of the elements in the order of what key(element) gives.
template <class Elements, class Key>
std::vector<std::uint16_t> sorted(const Elements& elements, Key key) {
  static_assert(kMaxTensors <= 65536 && kMaxTexts <= 65536);
  std::vector<std::uint16_t> order(elements.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::sort(order.begin(), order.end(),
            [&](std::uint16_t a, std::uint16_t b) { return key(elements[a]) < key(elements[b]); });
  return order;
}

template <class Elements, class Key>
void check_unique(const Elements& elements, Key key, const std::string& where) {
  const std::vector<std::uint16_t> order = sorted(elements, key);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::string_view name = key(elements[order[i]]);
    if (key(elements[order[i - 1]]) == name) refuse(where, in_quotes(name) + " appears twice");
  }
}

// The ranges must cover the data from its beginning to its end, each byte once.
void check_ranges(const Header& header, std::uint64_t data_bytes, const std::string& where) {
  const std::vector<std::uint16_t> order =
      sorted(header.entries, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t place = 0;
  for (const std::uint16_t i : order) {
    const Entry& entry = header.entries[i];
    const std::string what = "tensor " + in_quotes(entry.name) + ": data_offsets is " +
                             numbers(entry.begin, entry.end) + "; ";
    if (entry.end > data_bytes) {
      refuse(where, what + "the file has " + std::to_string(data_bytes) + " bytes of data");
    }
    if (entry.begin < place) refuse(where, what + "it overlaps another tensor");
    if (entry.begin > place) {
      refuse(where, what + "the bytes from " + std::to_string(place) + " on belong to no tensor");
    }
    place = entry.end;
  }
  if (place != data_bytes) {
    refuse(where, std::to_string(data_bytes - place) + " bytes follow the last tensor");
  }
}

std::string read_header_text(const InputFile& file) {
  const std::string& where = file.path();
  std::array<std::byte, kLengthBytes> bytes;
  if (file.size() < bytes.size()) {
    refuse(where, "it has " + std::to_string(file.size()) +
                      " bytes; a safetensors file begins with 8 bytes for a length");
  }
  file.read(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<std::uint64_t>(bytes[i]);
  }
  const std::string found = "the length of the header is " + std::to_string(length) + "; ";
  if (length > kMaxHeaderBytes) refuse(where, found + "at most 100000000 is allowed");
  if (length > file.size() - kLengthBytes) {
    refuse(where, found + "the file has only " + std::to_string(file.size() - kLengthBytes) +
                      " bytes after it");
  }
  if (length < 2) refuse(where, found + "at least \"{}\" must be there");
  std::byte first;
  file.read(kLengthBytes, std::span(&first, 1));
  if (first != std::byte{'{'}) refuse(where, "the header does not begin with '{'");
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

TensorFile read_safetensors(const std::filesystem::path& path) {
  const InputFile input(path);
  const std::string where = path.string() + ": header", text = read_header_text(input);
  const Header header = HeaderReader(text, where).read();
  check_unique(
      header.entries, [](const Entry& entry) { return entry.name; }, where);
  check_unique(
      header.texts, [](const Text& item) { return item.key; }, where);
  check_ranges(header, input.size() - kLengthBytes - text.size(), where);

  TensorFile file;
  for (const Text& item : header.texts) {
    file.metadata.emplace(item.key, item.value.text());
  }
  file.tensors.reserve(header.entries.size());
  for (const Entry& entry : header.entries) {
    NamedTensor tensor{std::string(entry.name),
                       entry.dtype,
                       {entry.sizes().begin(), entry.sizes().end()},
                       std::vector<std::byte>(static_cast<std::size_t>(entry.end - entry.begin))};
    input.read(kLengthBytes + text.size() + entry.begin, tensor.data);
    file.tensors.push_back(std::move(tensor));
  }
  return file;
}

}  // namespace bnns::train::impl
