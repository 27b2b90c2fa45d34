// Archives that break a rule of the format: each is refused with the rule, and costs no more memory
// than the file has bytes and 1 MB.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string>

#include "files/support.h"
#include "train/files/safetensors.h"

namespace {

// Memory from operator new: how much is in use, and the most there was.
std::atomic<std::size_t> in_use{0}, most{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = in_use += malloc_usable_size(memory);
  if (now > most) most = now;
  return memory;
}

void uncounted(void* memory) {
  in_use -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(std::malloc(size));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size);
  return memory == nullptr ? nullptr : counted(memory);
}
void operator delete(void* memory) noexcept {
  uncounted(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  uncounted(memory);
}

namespace bnns::train::impl {
namespace {

using namespace std::string_literals;
using test::expect_error;
using test::TemporaryFolder;
using test::write_bytes;

std::string length_of(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string archive(const std::string& header, const std::string& data = "") {
  return length_of(header.size()) + header + data;
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

// One tensor "a" with four bytes of data.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return archive("{\"a\":" + tensor(dtype, shape, offsets) + "}", "1234");
}

struct Hostile {
  std::string bytes;
  std::string rule;
};

const std::string kGood = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";

std::vector<Hostile> broken_frames() {
  return {
      {"", "it has 0 bytes"},
      {"1234567", "it has 7 bytes"},
      {length_of(0), "the length of the header is 0"},
      {length_of(1) + "{", "the length of the header is 1"},
      {length_of(2), "the file has only 0 bytes"},
      {length_of(100) + "{}", "the file has only 2 bytes"},
      {length_of(100'000'001) + "{}", "at most 100000000"},
      {length_of(~std::uint64_t{0}) + "{}", "the length of the header is 18446744073709551615"},
      {length_of(std::uint64_t{1} << 63) + "{}", "at most 100000000"},
      {length_of(~std::uint64_t{0} - 7) + "{}", "at most 100000000"},
      {archive(" {}"), "does not begin with '{'"},
      {archive("[]"), "does not begin with '{'"},
      {archive("\xEF\xBB\xBF{}"), "does not begin with '{'"},
      {archive("null"), "does not begin with '{'"},
      {archive("{}x"), "something follows"},
      {archive("{}{}"), "something follows"},
      {archive("{}\0"s), "something follows"},
      {archive("{ "), "a name in double quotes"},
      {archive("{\"a\":" + kGood, "1234"), "',' or '}' must be here"},
      {archive("{\"a\":" + kGood + ",}", "1234"), "a name in double quotes"},
      {archive("{\"\xFF\":" + kGood + "}", "1234"), "not UTF-8"},
      {archive("{\"\xED\xA0\x80\":" + kGood + "}", "1234"), "not UTF-8"},
      {archive(std::string(1000, '{')), "a name in double quotes"},
      {archive("{\"a\":{\"shape\":" + std::string(100000, '[')), "a number must be here"},
      {archive("{}", "1"), "1 bytes follow the last tensor"},
      {archive("{\"a\":" + kGood + "}", "12345"), "1 bytes follow the last tensor"},
      {archive("{\"a\":" + kGood + "}", "123"), "the file has 3 bytes of data"},
  };
}

std::vector<Hostile> broken_tensors() {
  return {
      {archive("{\"a\":1}"), "'{' must be here"},
      {archive("{\"a\":[]}"), "'{' must be here"},
      {archive("{\"a\":{}}"), "tensor \"a\" has no dtype"},
      {archive(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "has no data_offsets"},
      {archive(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "has no shape"},
      {archive(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"),
       "dtype appears twice"},
      {archive(R"({"a":{"shape":[1],"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"),
       "shape appears twice"},
      {archive(R"({"a":{"data_offsets":[0,4],"dtype":"F32","data_offsets":[0,4],"shape":[1]}})",
               "1234"),
       "data_offsets appears twice"},
      {archive(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":0}})", "1234"),
       "field \"x\""},
      {archive(R"({"a":{"dtype":0,"shape":[1],"data_offsets":[0,4]}})", "1234"),
       "a string must be here"},
      {one("F8_E4M3", "[4]", "[0,4]"), "dtype \"F8_E4M3\" is not supported"},
      {one("I8", "[4]", "[0,4]"), "dtype \"I8\""},
      {one("f32", "[1]", "[0,4]"), "dtype \"f32\""},
      {one("", "[1]", "[0,4]"), "dtype \"\""},
      {one("\\u001b[31m", "[1]", "[0,4]"), "is not supported"},
      {one("F32", "1", "[0,4]"), "'[' must be here"},
      {one("F32", "[-1]", "[0,4]"), "\"-1\" must be an integer"},
      {one("F32", "[1.0]", "[0,4]"), "\"1.0\" must be an integer"},
      {one("F32", "[1e0]", "[0,4]"), "\"1e0\" must be an integer"},
      {one("F32", "[\"1\"]", "[0,4]"), "a number must be here"},
      {one("F32", "[null]", "[0,4]"), "a number must be here"},
      {one("F32", "[[1]]", "[0,4]"), "a number must be here"},
      {one("F32", "[18446744073709551616]", "[0,4]"), "does not fit into a 64-bit integer"},
      {one("F32", "[99999999999999999999999999]", "[0,4]"), "does not fit"},
      {one("F32", "[18446744073709551615]", "[0,4]"), "does not fit into 63 bits"},
      {one("F32", "[4611686018427387904]", "[0,4]"), "does not fit into 63 bits"},
      {one("F32", "[4294967296,4294967296]", "[0,4]"), "does not fit into 63 bits"},
      {one("F32", "[4294967296,4294967296,0]", "[0,4]"), "does not fit into 63 bits"},
      {one("F32", "[0,4294967296,4294967296]", "[0,0]"), "does not fit into 63 bits"},
      {one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "more than 8 dimensions"},
      {one("F32", "[2]", "[0,4]"), "type and shape need 8"},
      {one("F64", "[1]", "[0,4]"), "type and shape need 8"},
      {one("F32", "[0]", "[0,4]"), "type and shape need 0"},
      {one("F32", "[1]", "[0,0]"), "type and shape need 4"},
      {one("U8", "[5]", "[0,5]"), "the file has 4 bytes of data"},
      {one("U8", "[1152921504606846976]", "[0,1152921504606846976]"),
       "the file has 4 bytes of data"},
      {one("F32", "[1]", "[4,0]"), "must not be below the first"},
      {one("F32", "[1]", "[18446744073709551612,18446744073709551616]"), "does not fit"},
      {one("U8", "[3]", "[18446744073709551612,18446744073709551615]"), "bytes of data"},
      {one("F32", "[1]", "[-4,0]"), "\"-4\" must be an integer"},
      {one("F32", "[1]", "[0.0,4]"), "\"0.0\" must be an integer"},
      {one("F32", "[1]", "[0]"), "fewer than two"},
      {one("F32", "[1]", "[]"), "fewer than two"},
      {one("F32", "[1]", "[0,4,8]"), "more than two"},
      {one("F32", "[1]", "4"), "'[' must be here"},
      {one("U8", "[2]", "[2,4]"), "the bytes from 0 on belong to no tensor"},
      {one("U8", "[2]", "[0,2]"), "2 bytes follow the last tensor"},
      {one("U8", "[0]", "[2,2]"), "belong to no tensor"},
  };
}

std::vector<Hostile> broken_sets() {
  const auto two = [](const std::string& a, const std::string& b) {
    return archive("{\"a\":" + a + ",\"b\":" + b + "}", "1234");
  };
  const auto named = [](const std::string& name) {
    return archive("{\"" + name + "\":" + kGood + "}", "1234");
  };
  const auto metadata = [](const std::string& texts) {
    return archive("{\"__metadata__\":" + texts + "}");
  };
  return {
      {two(tensor("U8", "[3]", "[0,3]"), tensor("U8", "[2]", "[2,4]")), "overlaps another"},
      {two(tensor("U8", "[4]", "[0,4]"), tensor("U8", "[4]", "[0,4]")), "overlaps another"},
      {two(tensor("U8", "[4]", "[0,4]"), tensor("U8", "[0]", "[2,2]")), "overlaps another"},
      {two(tensor("U8", "[1]", "[0,1]"), tensor("U8", "[2]", "[2,4]")), "belong to no tensor"},
      {two(tensor("U8", "[2]", "[2,4]"), tensor("U8", "[1]", "[0,1]")), "belong to no tensor"},
      {archive("{\"a\":" + tensor("U8", "[4]", "[0,4]") + ",\"a\":" + tensor("U8", "[4]", "[4,8]") +
                   "}",
               "12345678"),
       "\"a\" appears twice"},
      {named(""), "a name is empty"},
      {named("a/b"), "slash"},
      {named("..\\\\b"), "backslash"},
      {named("a\\u0000"), "backslash"},
      {named("\\u0061"), "backslash"},
      {named("a\nb"), "a control character in a string"},
      {named("a\0b"s), "a control character in a string"},
      {named("a\x7F"), "control character"},
      {named("a\\\""), "backslash"},
      {named(std::string(513, 'n')), "longer than 512 bytes"},
      {named(std::string(1'000'000, 'n')), "longer than 512 bytes"},
      {metadata("[]"), "'{' must be here"},
      {metadata("{\"k\":1}"), "a string must be here"},
      {metadata("{\"k\":{\"l\":\"\"}}"), "a string must be here"},
      {metadata("{\"k\":\"1\",\"k\":\"1\"}"), "\"k\" appears twice"},
      {metadata("{\"k\":\"\\ud800\"}"), "surrogates"},
      {metadata("{\"a/b\":\"\"}"), "slash"},
      {archive(R"({"__metadata__":{},"__metadata__":{}})"), "__metadata__ appears twice"},
  };
}

class HostileArchives : public ::testing::Test {
 protected:
  // Reads the file; returns the memory that it took at most.
  template <class Function>
  static std::size_t memory_of(Function function) {
    const std::size_t before = in_use;
    most = before;
    function();
    return most - before;
  }

  void refuses(const Hostile& hostile) {
    write_bytes(path_, hostile.bytes);
    SCOPED_TRACE(hostile.rule);
    const std::size_t memory = memory_of([&] {
      expect_error([&] { read_safetensors(path_); }, Error::Kind::model,
                   {path_.string(), hostile.rule});
    });
    EXPECT_LE(memory, hostile.bytes.size() + (1 << 20));
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "m.safetensors";
};

TEST_F(HostileArchives, AreRefusedWithTheRule) {
  std::size_t count = 0;
  for (const auto& list : {broken_frames(), broken_tensors(), broken_sets()}) {
    for (const Hostile& hostile : list) refuses(hostile);
    count += list.size();
  }
  RecordProperty("archives", static_cast<int>(count));
  EXPECT_GE(count, 90u);
}

TEST_F(HostileArchives, CannotMakeTheReaderTakeMemory) {
  // As many tensors as are allowed, then a byte too many; one tensor more than is allowed.
  std::string header = "{";
  for (int i = 0; i < 8192; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              "\":" + tensor("U8", "[0,1,1,1,1,1,1,1]", "[0,0]");
  }
  refuses({archive(header + "}", "x"), "1 bytes follow"});
  refuses(
      {archive(header + ",\"x\":" + tensor("U8", "[0]", "[0,0]") + "}"), "more than 8192 tensors"});
  // Texts: too many, and a long one in front of a mistake.
  header = "{\"__metadata__\":{";
  for (int i = 0; i < 100000; ++i) header += "\"" + std::to_string(i) + "\":\"\",";
  refuses({archive(header), "more than 1024 texts"});
  refuses({archive("{\"__metadata__\":{\"k\":\"" + std::string(5'000'000, 'x') + "\\n\"},\"a\":0}"),
           "'{' must be here"});
  refuses({archive("{\"a\":{\"shape\":[" + std::string(5'000'000, '1') + "]}}"), "does not fit"});
  std::string zeros = "{\"a\":{\"shape\":[0";
  for (int i = 0; i < 1'000'000; ++i) zeros += ",0";
  refuses({archive(zeros + "]}}"), "more than 8 dimensions"});
}

TEST_F(HostileArchives, AFlipOfAnyBitOfTheHeaderIsRefusedOrReadsInFull) {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"text", "a\"b\xC3\xA9"}};
  file.tensors = {NamedTensor::of("conv.weight", {2, 1, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}),
                  NamedTensor::of("order", {2}, std::vector<std::int64_t>{1, -1}),
                  NamedTensor::of("e", {0, 3}, std::vector<float>{})};
  write_safetensors(path_, file);
  const std::string good = test::read_bytes(path_);
  const std::size_t header_end =
      good.find("     ", 8) == std::string::npos ? good.rfind('}') + 1 : good.find("     ", 8);
  std::size_t refused = 0, read = 0;
  for (std::size_t i = 0; i < header_end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 1 << bit);
      write_bytes(path_, bytes);
      try {
        // What is read is a file of its own: written again it is read as the same. Only names,
        // texts, types of one size and shapes of one product can have changed, never a value's
        // bytes.
        const TensorFile other = read_safetensors(path_);
        ++read;
        ASSERT_EQ(other.tensors.size(), file.tensors.size());
        write_safetensors(path_, other);
        ASSERT_EQ(read_safetensors(path_), other);
      } catch (const Error& error) {
        ++refused;
        ASSERT_EQ(error.kind(), Error::Kind::model) << error.what();
      }
    }
  }
  EXPECT_GT(refused, header_end * 4) << read << " of " << header_end * 8 << " flips were read";
}

TEST_F(HostileArchives, EveryTruncationIsRefused) {
  TensorFile file;
  file.metadata["k"] = "v";
  file.tensors = {NamedTensor::of("a", {2}, std::vector<float>{1, 2})};
  write_safetensors(path_, file);
  const std::string good = test::read_bytes(path_);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(path_, good.substr(0, size));
    expect_error([&] { read_safetensors(path_); }, Error::Kind::model, {path_.string()});
  }
}

TEST_F(HostileArchives, FilesThatAreNoneAreRefused) {
  expect_error([&] { read_safetensors(folder_ / "none"); }, Error::Kind::file, {"No such file"});
  expect_error([&] { read_safetensors(folder_.path()); }, Error::Kind::file, {"it is a folder"});
  expect_error([] { read_safetensors("/dev/zero"); }, Error::Kind::file, {"no regular file"});
}

}  // namespace
}  // namespace bnns::train::impl
