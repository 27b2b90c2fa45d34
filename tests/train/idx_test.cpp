// IDX files, plain and gzip: what is read, and what is refused with which words.
#include <limits>

#include "files.h"

namespace bnns::train {
namespace {

std::string header(std::uint32_t magic, const std::vector<std::uint32_t>& dimensions) {
  std::string text = big_endian(magic, 4);
  for (const std::uint32_t d : dimensions) text += big_endian(d, 4);
  return text;
}

// Four images of two rows and three columns; pixel i of image n is 10 n + i.
std::string images() {
  std::string text = header(0x803, {4, 2, 3});
  for (int n = 0; n < 4; ++n) {
    for (int i = 0; i < 6; ++i) text += static_cast<char>(10 * n + i);
  }
  return text;
}

std::string labels(const std::string& bytes = {3, 7, 3, 9}) {
  return header(0x801, {static_cast<std::uint32_t>(bytes.size())}) + bytes;
}

void expect_images(const Data& data) {
  ASSERT_EQ(data.size(), 4u);
  EXPECT_EQ(data.description().shape, (SampleShape{.width = 3, .height = 2}));
  EXPECT_EQ(data.description().kind, SampleKind::image);
  EXPECT_EQ(data.description().class_names, (std::vector<std::string>{"3", "7", "9"}));
  const Sample s = sample(data, 3);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(s.values[i], static_cast<float>(30 + i) / 255);
  EXPECT_EQ(s.targets[0], 2);
  EXPECT_EQ(data.class_counts(), (std::vector<std::size_t>{2, 1, 1}));
}

// The images must be refused with all parts in the text, plain and packed.
void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  Folder folder;
  const std::string good = folder.write("labels", labels());
  std::vector<std::string> all = parts;
  all.push_back("bad-images");
  expect_error([&] { open_idx(folder.write("bad-images", bytes), good); }, Error::Kind::data, all);
  expect_error([&] { open_idx(folder.write("bad-images.gz", gzip(bytes)), good); },
               Error::Kind::data, {"bad-images.gz"});
}

TEST(Idx, ReadsPlainAndPackedFiles) {
  Folder folder;
  expect_images(open_idx(folder.write("i", images()), folder.write("l", labels())));
  expect_images(
      open_idx(folder.write("i.gz", gzip(images())), folder.write("l.gz", gzip(labels()))));
  // Several packed pieces are one file, as gzip -d has it.
  const std::string pieces = gzip(images().substr(0, 9)) + gzip("") + gzip(images().substr(9));
  expect_images(open_idx(folder.write("i.gz", pieces), folder.path("l")));
  // Beyond the limit of memory a temporary file serves.
  expect_images(open_idx(folder.path("i.gz"), folder.path("l.gz"), DataOptions{.memory_limit = 0}));
}

TEST(Idx, TheChecksumIsThatOfTheElementsPackedOrNot) {
  Folder folder;
  const std::string l = folder.write("l", labels());
  const std::uint64_t sum = open_idx(folder.write("i", images()), l).checksum();
  const std::string packed = folder.write("i.gz", gzip(images()));
  EXPECT_EQ(open_idx(packed, l).checksum(), sum);
  EXPECT_EQ(open_idx(packed, l, DataOptions{.memory_limit = 0}).checksum(), sum);
  std::string other = images();
  other.back() ^= 1;
  EXPECT_NE(open_idx(folder.write("o", other), l).checksum(), sum);
  EXPECT_NE(open_idx(folder.path("i"), folder.write("m", labels({3, 7, 9, 9}))).checksum(), sum);
}

TEST(Idx, ReadsOtherRanksAndTypes) {
  Folder folder;
  const std::string label_path = folder.write("l", labels({0, 1}));
  const std::string rgb =
      header(0x804, {2, 3, 1, 2}) + std::string(6, '\0') + std::string(6, '\x33');
  const Data colour = open_idx(folder.write("rgb", rgb), label_path);
  EXPECT_EQ(colour.description().shape, (SampleShape{.width = 2, .height = 1, .channels = 3}));
  EXPECT_EQ(sample(colour, 1).values, std::vector<float>(6, 0.2f));

  const std::string shorts = header(0xB02, {2, 2}) + big_endian(0xFFFE, 2) + big_endian(300, 2) +
                             big_endian(0x8000, 2) + big_endian(1, 2);
  const Data numbers = open_idx(folder.write("s", shorts), label_path);
  EXPECT_EQ(numbers.description().kind, SampleKind::numbers);
  EXPECT_EQ(sample(numbers, 0).values, (std::vector<float>{-2, 300}));
  EXPECT_EQ(sample(numbers, 1).values, (std::vector<float>{-32768, 1}));

  const std::string floats =
      header(0xD02, {2, 1}) + big_endian(0x3FC00000, 4) + big_endian(0x7FC00000, 4);
  const Data real = open_idx(folder.write("f", floats), label_path);
  EXPECT_EQ(sample(real, 0).values, (std::vector<float>{1.5f}));
  expect_error([&] { sample(real, 1); }, Error::Kind::data,
               {"/f:", "element 0 of sample 1", "nan", "finite"});
}

TEST(Idx, RefusesBadHeaders) {
  const std::string body = images().substr(16);
  expect_refused("", {"0 bytes", "at least 8"});
  expect_refused("PNG image", {"magic is 0x504E4720", "two zero bytes"});
  expect_refused(header(0x703, {4, 2, 3}) + body, {"magic is 0x00000703", "type 0x07"});
  expect_refused(header(0x800, {4, 2, 3}) + body, {"rank 0"});
  expect_refused(header(0x8FF, {4, 2, 3}) + body, {"rank 255"});
  expect_refused(header(0x801, {24}) + body, {"24 images"});
  expect_refused(header(0x803, {4, 2}), {"12 bytes", "rank 3 has 16"});
  expect_refused(header(0x803, {4, 0, 3}), {"dimension 1 is 0", "at least 1"});
  expect_refused(header(0x803, {0, 2, 3}), {"dimension 0 is 0"});
  const std::uint32_t huge = std::numeric_limits<std::uint32_t>::max();
  expect_refused(header(0x804, {huge, huge, huge, huge}), {"dimension 1 is 4294967295"});
  expect_refused(header(0x803, {huge, 2, 3}) + body, {"declares 25769803786 bytes", "has 40"});
}

TEST(Idx, RefusesFilesOfAnotherLength) {
  expect_refused(images().substr(0, 39), {"declares 40 bytes", "has 39"});
  expect_refused(images() + "x", {"1 bytes follow the 40"});
  Folder folder;
  const std::string good = folder.write("l", labels()), packed = gzip(images());
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    expect_error([&] { open_idx(folder.write("i.gz", bytes), good); }, Error::Kind::data, parts);
  };
  for (std::size_t n = 2; n < packed.size(); ++n) refused(packed.substr(0, n), {"/i.gz:"});
  refused(packed.substr(0, packed.size() - 1), {"truncated"});
  refused(packed + "x", {"1 bytes follow the gzip data"});
  refused(gzip(images() + "x"), {"bytes follow the 40 that its header declares"});
  refused(gzip(images().substr(0, 39)), {"declares 24 bytes of elements", "has 23"});
  std::string corrupt = packed;
  corrupt[corrupt.size() - 8] ^= 1;  // the checksum
  refused(corrupt, {"corrupt near byte", "incorrect data check"});
}

TEST(Idx, RefusesLabelsThatDoNotFit) {
  Folder folder;
  const std::string good = folder.write("i", images());
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    expect_error([&] { open_idx(good, folder.write("labels", bytes)); }, Error::Kind::data, parts);
  };
  refused(labels({0, 1, 0}), {"labels:", "has 3 labels", "has 4 images"});
  refused(images(), {"labels:", "rank is 3", "rank 1"});
  refused(header(0xD01, {4}) + std::string(16, '\0'), {"type float", "integers"});
  refused(header(0xC01, {4}) + std::string(12, '\0') + big_endian(0xFFFFFFFF, 4),
          {"label 3 is -1", "negative"});
}

TEST(Idx, SaysWhyAFileCannotBeOpened) {
  Folder folder;
  const std::string good = folder.write("l", labels());
  expect_error([&] { open_idx(folder.path("absent"), good); }, Error::Kind::file,
               {"/absent:", "No such file"});
  expect_error([&] { open_idx(folder.path(), good); }, Error::Kind::file,
               {"cannot read: it is a folder"});
  expect_error([&] { open_idx("/dev/null", good); }, Error::Kind::file,
               {"/dev/null", "no regular file"});
}

TEST(Idx, AFileThatShrinksLaterIsAnErrorOfThatSample) {
  Folder folder;
  const std::string path = folder.write("i", images());
  const Data data = open_idx(path, folder.write("l", labels()));
  std::filesystem::resize_file(path, 36);
  EXPECT_EQ(sample(data, 0).values[0], 0);
  expect_error([&] { sample(data, 3); }, Error::Kind::file, {"/i:", "shorter"});
}

// 1 GB of zeros packs to 1 MB. A header that declares 24 bytes stops it at once; one that declares
// all of it is served from a temporary file, or refused if no file of that size can hold as much.
TEST(Idx, AGzipBombNeedsNoMemory) {
  Folder folder;
  const std::string good = folder.write("l", labels());
  const std::string pieces = gzip(std::string(1 << 20, '\0'), 1 << 10);
  const long before = peak_kilobytes();
  expect_error(
      [&] {
        open_idx(folder.write("i.gz", gzip(header(0x803, {4, 2, 3})) + pieces), good);
      },
      Error::Kind::data, {"bytes follow the 40"});
  expect_error(
      [&] {
        open_idx(folder.write("i.gz", gzip(header(0x803, {0xFFFFFFFF, 8, 8})) + pieces), good);
      },
      Error::Kind::data, {"declares 274877906880 bytes", "cannot hold so many"});
  expect_error(
      [&] {
        open_idx(
            folder.write("i.gz", gzip(header(0x803, {16, 8192, 8192})) + pieces.substr(0, 200000)),
            good, DataOptions{.memory_limit = 1 << 20});
      },
      Error::Kind::data, {"/i.gz:"});
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kilobytes() - before, 8 << 10);
  }
}

}  // namespace
}  // namespace bnns::train
