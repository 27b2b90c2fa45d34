// Tensors come back from their files with equal bits, and the files are what the format says.
#include "train/files/safetensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "files/support.h"

namespace bnns::train::impl {
namespace {

using test::expect_error;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;

const float kInfinity = std::numeric_limits<float>::infinity();

TensorFile example() {
  TensorFile file;
  file.metadata = {{"format", "pt"},
                   {"description", "{\"layers\": [\"a\\b\", \"\t\x01\"]}\n"},
                   {"classes", "caf\xC3\xA9,\xF0\x9F\x98\x80"}};
  file.tensors = {
      NamedTensor::of("state.order", {3}, std::vector<std::int64_t>{-1, 0, 1LL << 62}),
      NamedTensor::of("sums", {2, 1}, std::vector<double>{0.1, -0.0}),
      NamedTensor::of("conv1.weight", {2, 1, 3, 1},
                      std::vector<float>{1, -2, 3, NAN, kInfinity, -0.0f}),
      NamedTensor::of("scalar", {}, std::vector<float>{7}),
      NamedTensor::of("empty", {4, 0, 2}, std::vector<float>{}),
      {"half", DType::f16, {2}, {std::byte{0}, std::byte{0x3C}, std::byte{1}, std::byte{0}}},
      {"flags", DType::boolean, {3}, {std::byte{1}, std::byte{0}, std::byte{1}}}};
  return file;
}

TEST(Safetensors, RoundTripsWithEqualBits) {
  const TemporaryFolder folder;
  const TensorFile file = example();
  write_safetensors(folder / "m", file);
  const TensorFile read = read_safetensors(folder / "m");
  EXPECT_EQ(read, file);
  write_safetensors(folder / "again", read);
  EXPECT_EQ(read_bytes(folder / "again"), read_bytes(folder / "m"));
  EXPECT_EQ(read.find("state.order")->integers(), (std::vector<std::int64_t>{-1, 0, 1LL << 62}));
  EXPECT_TRUE(std::signbit(read.find("sums")->doubles()[1]));
  EXPECT_EQ(read.find("scalar")->floats(), std::vector<float>{7});
  EXPECT_EQ(read.find("half")->floats(), (std::vector<float>{1, 0x1p-24f}));
  EXPECT_EQ(read.find("nothing"), nullptr);
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  const TemporaryFolder folder;
  TensorFile file;
  file.metadata["k"] = "v";
  file.tensors = {{"b", DType::u8, {1}, {std::byte{9}}},
                  NamedTensor::of("a", {1}, std::vector<float>{1})};
  write_safetensors(folder / "m", file);
  std::string header =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  using namespace std::string_literals;
  EXPECT_EQ(read_bytes(folder / "m"), std::string(1, static_cast<char>(header.size())) +
                                          "\0\0\0\0\0\0\0"s + header + "\0\0\x80\x3F\x09"s);
  write_safetensors(folder / "none", {});
  EXPECT_EQ(read_bytes(folder / "none"), "\x08\0\0\0\0\0\0\0{}      "s);
  EXPECT_EQ(read_safetensors(folder / "none"), TensorFile{});
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  // Blanks, another order of fields, ranges in another order than the header, no padding.
  const TemporaryFolder folder;
  using namespace std::string_literals;
  const std::string header =
      "{ \"second\" : { \"data_offsets\" : [ 2 , 4 ] , \"shape\":[1],\"dtype\":\"BF16\" },\n"
      "\"first\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[0,2]}}";
  write_bytes(folder / "m", std::string(1, static_cast<char>(header.size())) + "\0\0\0\0\0\0\0"s +
                                header + "\0\xC0\x40\x40"s);
  const TensorFile file = read_safetensors(folder / "m");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "second");
  EXPECT_EQ(file.tensors[0].floats(), std::vector<float>{3});
  EXPECT_EQ(file.tensors[1].floats(), std::vector<float>{-2});
}

TEST(Safetensors, ConvertsEveryHalfExactly) {
  NamedTensor half{"h", DType::f16, {65536}, std::vector<std::byte>(131072)};
  for (std::size_t i = 0; i < 65536; ++i) {
    half.data[2 * i] = static_cast<std::byte>(i);
    half.data[2 * i + 1] = static_cast<std::byte>(i >> 8);
  }
  const std::vector<float> values = half.floats();
  for (std::size_t i = 0; i < 65536; ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
    const double magnitude = exponent == 31  ? (mantissa == 0 ? kInfinity : NAN)
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    if (std::isnan(magnitude)) {
      ASSERT_TRUE(std::isnan(values[i])) << i;
    } else {
      ASSERT_EQ(values[i], magnitude * (i >> 15 == 0 ? 1 : -1)) << i;
      ASSERT_EQ(std::signbit(values[i]), i >> 15 == 1) << i;
    }
  }
}

TEST(Safetensors, ConvertsOtherFloatsAndRefusesIntegers) {
  const NamedTensor wide =
      NamedTensor::of("w", {4}, std::vector<double>{0.1, 1e300, -1e300, INFINITY});
  EXPECT_EQ(wide.floats(), (std::vector<float>{0.1f, kInfinity, -kInfinity, kInfinity}));
  const NamedTensor integers = NamedTensor::of("i", {1}, std::vector<std::int64_t>{1});
  expect_error([&] { integers.floats(); }, Error::Kind::model,
               {"tensor \"i\": its type is I64; it must be F32"});
  expect_error([&] { wide.integers(); }, Error::Kind::model, {"it must be I64"});
  expect_error([&] { integers.doubles(); }, Error::Kind::model, {"it must be F64"});
}

TEST(Safetensors, RoundTripsABigTensor) {
  const TemporaryFolder folder;
  std::vector<float> values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.37f;
  TensorFile file;
  file.tensors = {NamedTensor::of("big", {3'000'001}, values)};
  write_safetensors(folder / "m", file);
  EXPECT_EQ(read_safetensors(folder / "m").find("big")->floats(), values);
}

TEST(Safetensors, RefusesToWriteWhatItWouldNotRead) {
  const TemporaryFolder folder;
  write_bytes(folder / "m", "old");
  const auto refuses = [&](const TensorFile& file, const std::string& piece) {
    expect_error([&] { write_safetensors(folder / "m", file); }, Error::Kind::model,
                 {(folder / "m").string(), piece});
  };
  const auto one = [](const std::string& name) {
    TensorFile file;
    file.tensors = {NamedTensor::of(name, {1}, std::vector<float>{1})};
    return file;
  };
  refuses(one(""), "a name is empty");
  refuses(one("a/b"), "slash");
  refuses(one("a\nb"), "control");
  refuses(one(std::string("a\0b", 3)), "control");
  refuses(one("\xFF"), "not UTF-8");
  refuses(one("__metadata__"), "taken by the format");
  refuses(one(std::string(513, 'n')), "longer than 512");
  TensorFile twice = one("a");
  twice.tensors.push_back(twice.tensors[0]);
  refuses(twice, "appears twice");
  TensorFile wrong = one("a");
  wrong.tensors[0].shape = {2};
  refuses(wrong, "it has 4 bytes; type and shape need another number");
  wrong.tensors[0].shape = {std::size_t{1} << 63, 4};
  refuses(wrong, "another number");
  wrong.tensors[0].shape = std::vector<std::size_t>(9, 1);
  refuses(wrong, "9 dimensions");
  TensorFile text = one("a");
  text.metadata["k"] = "\xC3";
  refuses(text, "the text of \"k\" in __metadata__ is not UTF-8");
  TensorFile many;
  for (int i = 0; i < 8193; ++i) many.tensors.push_back({std::to_string(i), DType::u8, {0}, {}});
  refuses(many, "more than 8192 tensors");
  TensorFile texts;
  for (int i = 0; i < 1025; ++i) texts.metadata[std::to_string(i)] = "";
  refuses(texts, "1025 texts");
  EXPECT_EQ(read_bytes(folder / "m"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

}  // namespace
}  // namespace bnns::train::impl
