// Pictures: each format and kind of pixel, sizes and channels, corrupt files.
#include "pictures.h"
#include "train/data/image.h"
#include "train/data/resample.h"

namespace bnns::train {
namespace {

using impl::read_image_shape;
using impl::read_image_values;

// The picture in its own size.
std::vector<float> read(const std::string& bytes, std::size_t channels = 0) {
  Folder folder;
  const std::string path = folder.write("picture", bytes);
  SampleShape shape = read_image_shape(impl::InputFile(path));
  if (channels != 0) shape.channels = channels;
  std::vector<float> values(shape.count(), -1.0f);
  read_image_values(path, shape, false, values);
  return values;
}

std::vector<float> resampled(const std::string& bytes, SampleShape shape) {
  Folder folder;
  std::vector<float> values(shape.count());
  read_image_values(folder.write("picture", bytes), shape, true, values);
  return values;
}

void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
  std::vector<std::string> all = parts;
  all.push_back("/picture:");
  expect_error([&] { read(bytes); }, Error::Kind::data, all);
}

std::vector<float> divided(const std::vector<int>& numbers, float by) {
  std::vector<float> result;
  for (const int n : numbers) result.push_back(static_cast<float>(n) / by);
  return result;
}

TEST(Image, PngOfEveryKindOfPixel) {
  const std::string z(1, '\0');
  const Png grey{.width = 3, .height = 2, .rows = z + "\x01\x80\xFF" + z + "\x02\x03\x04"};
  EXPECT_EQ(read(grey.bytes()), divided({1, 128, 255, 2, 3, 4}, 255));
  EXPECT_EQ(read(grey.bytes(), 3),
            divided({1, 128, 255, 2, 3, 4, 1, 128, 255, 2, 3, 4, 1, 128, 255, 2, 3, 4}, 255));

  const Png deep{.width = 2, .height = 1, .depth = 16, .rows = z + "\x12\x34\xFF\xFE"};
  EXPECT_EQ(read(deep.bytes()), divided({0x1234, 0xFFFE}, 65535));
  const Png flat{.width = 4, .height = 1, .depth = 2, .rows = z + "\x1B"};
  EXPECT_EQ(read(flat.bytes()), divided({0, 1, 2, 3}, 3));
  const Png bits{.width = 3, .height = 1, .depth = 1, .rows = z + "\xA0"};
  EXPECT_EQ(read(bits.bytes()), divided({1, 0, 1}, 1));

  const Png rgb{.width = 2, .height = 1, .colour = 2, .rows = z + "\x01\x02\x03\x04\x05\x06"};
  EXPECT_EQ(read(rgb.bytes()), divided({1, 4, 2, 5, 3, 6}, 255));
  const std::vector<float> luma = read(rgb.bytes(), 1);
  EXPECT_NEAR(luma[0], (0.299 * 1 + 0.587 * 2 + 0.114 * 3) / 255, 1e-7);

  const Png palette{.width = 3,
                    .height = 1,
                    .colour = 3,
                    .rows = z + z + "\x01\x02",
                    .chunks = png_chunk("PLTE", "\x0A\x14\x1E\x28\x32\x3C\x46\x50\x5A") +
                              png_chunk("tRNS", "\xFF" + z)};
  EXPECT_EQ(read(palette.bytes()), divided({10, 255, 70, 20, 255, 80, 30, 255, 90}, 255));
}

TEST(Image, AlphaIsLaidOverWhite) {
  const std::string z(1, '\0');
  const Png grey{.width = 3, .height = 1, .colour = 4, .rows = z + "\x64\xFF\x64" + z + z + "\x33"};
  EXPECT_EQ(read(grey.bytes()), divided({100, 255, 204}, 255));
  const Png rgb{.width = 1, .height = 1, .colour = 6, .rows = z + "\x64\x65\x66" + z};
  EXPECT_EQ(read(rgb.bytes()), divided({255, 255, 255}, 255));
}

TEST(Image, InterlacedPng) {
  // Of one pixel per row, only the first pass and those of later rows have data.
  const std::string z(1, '\0');
  const Png png{.width = 1, .height = 2, .rows = z + "\x05" + z + "\x09", .interlace = 1};
  EXPECT_EQ(read(png.bytes()), divided({5, 9}, 255));
}

TEST(Image, PgmAndPpm) {
  EXPECT_EQ(read("P2\n# by hand\n3 1 # size\n10\n0 5\n10"), divided({0, 32768, 65535}, 65535));
  EXPECT_EQ(read("P3 1 2 255 1 2 3 4 5 6"), divided({1, 4, 2, 5, 3, 6}, 255));
  EXPECT_EQ(read("P5 2 1 255\n" + std::string("\x07\xFF")), divided({7, 255}, 255));
  EXPECT_EQ(read("P5 1 1 65535\n" + std::string("\x01\x02")), divided({0x102}, 65535));
  EXPECT_EQ(read("P6\n1 1\n255\n" + std::string("\x01\x02\x03")), divided({1, 2, 3}, 255));
}

TEST(Image, RefusesBadPnm) {
  expect_refused("P4 8 1 x", {"kind P4", "P2, P3, P5 and P6"});
  expect_refused("P5 0 1 255\nx", {"0 x 1 pixels"});
  expect_refused("P5 3 2 255\nabcde", {"3 x 2", "6 bytes", "5 follow"});
  expect_refused("P5 1 1 0\nx", {"largest value is 0", "between 1 and 65535"});
  expect_refused("P5 1 1 65536\nxx", {"largest value is 65536"});
  expect_refused("P5 -1 1 255\nx", {"byte 3 is 0x2D", "the width"});
  expect_refused("P5 99999999999999999999 1 255\nx", {"the width", "above"});
  expect_refused("P5 1073741824 1073741824 255\nx", {"1073741824 x 1073741824", "at most"});
  expect_refused("P2 2 1 10 5 11", {"value 1 of row 0 is 11", "largest is 10"});
  expect_refused("P2 2 1 10 5 x", {"0x78", "a value"});
  expect_refused("P2 2 1", {"ends at byte 6", "largest value"});
  expect_refused("P5 1 1 255", {"no blank"});
}

TEST(Image, RefusesBadPng) {
  const std::string z(1, '\0');
  const std::string good = Png{.width = 3, .height = 1, .rows = z + "abc"}.bytes();
  for (std::size_t n = 8; n < good.size(); ++n) expect_refused(good.substr(0, n), {"PNG"});
  // Every flip of a bit gives another picture or an error, never anything else.
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    std::string changed = good;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ 1 << i % 8);
    try {
      read(changed);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::data);
    }
  }
  expect_refused(Png{.width = 3, .height = 2, .rows = z + "abc"}.bytes(), {"cannot be decoded"});
  expect_refused(Png{.width = 0, .height = 2, .rows = ""}.bytes(), {"0 x 2 pixels"});
  expect_refused(Png{.width = 1u << 20, .height = 1u << 20, .rows = ""}.bytes(),
                 {"1048576 x 1048576", "67108864"});
  expect_refused(Png{.width = 8192, .height = 8192, .rows = "", .interlace = 1}.bytes(),
                 {"8192 x 8192", "interlaced", "16777216"});
  expect_refused(Png{.width = 1, .height = 1, .depth = 3, .rows = z + "a"}.bytes(),
                 {"cannot be decoded", "IHDR"});
}

TEST(Image, ReadsJpeg) {
  EXPECT_EQ(read(jpeg(9, 5, 1, 128)), std::vector<float>(45, 128 / 255.0f));
  EXPECT_EQ(read(jpeg(9, 5, 3, 64)), std::vector<float>(135, 64 / 255.0f));
  EXPECT_EQ(read(jpeg(9, 5, 3, 64, true)), std::vector<float>(135, 64 / 255.0f));
}

TEST(Image, RefusesBadJpeg) {
  const std::string good = jpeg(16, 16, 1, 77);
  expect_refused(good.substr(0, 20), {"JPEG", "SOF"});
  expect_refused(good.substr(0, good.size() - 6), {"JPEG data cannot be decoded"});
  expect_refused(jpeg(4, 4, 4, 9), {"4 colour components"});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(~changed[i]);
    try {
      read(changed);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::data);
    }
  }
  expect_refused(jpeg(4100, 4100, 1, 9, true), {"4100 x 4100", "progressive"});
}

TEST(Image, RefusesOtherFiles) {
  expect_refused("", {"empty"});
  expect_refused("GIF89a", {"47 49 46 38", "PNG, JPEG, PGM or PPM"});
}

TEST(Image, ShrinksByArea) {
  const std::string picture = "P2 4 2 100 10 20 30 40 50 60 70 80";
  const std::vector<float> two = resampled(picture, {.width = 2, .height = 1});
  EXPECT_NEAR(two[0], 0.35f, 1e-5f);
  EXPECT_NEAR(two[1], 0.55f, 1e-5f);
  // 3 to 2: a pixel covers one and a half.
  const std::vector<float> odd = resampled("P2 3 1 100 30 60 90", {.width = 2, .height = 1});
  EXPECT_NEAR(odd[0], 0.4f, 1e-5f);
  EXPECT_NEAR(odd[1], 0.8f, 1e-5f);
}

TEST(Image, GrowsByInterpolation) {
  const std::vector<float> wide = resampled("P2 2 1 100 0 100", {.width = 4, .height = 1});
  const std::vector<float> expected = {0, 0.25f, 0.75f, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(wide[i], expected[i], 1e-5f);
  for (const float v : resampled("P2 1 1 100 70", {.width = 5, .height = 7})) {
    EXPECT_NEAR(v, 0.7f, 1e-5f);
  }
}

TEST(Image, WeightsSumToOne) {
  for (std::size_t from = 1; from < 40; ++from) {
    for (std::size_t to = 1; to < 40; ++to) {
      for (const impl::PixelWeights& pixel : impl::axis_weights(from, to)) {
        double sum = 0;
        for (const float w : pixel.weights) sum += w;
        EXPECT_NEAR(sum, 1, 1e-6);
        EXPECT_LE(pixel.first + pixel.weights.size(), from);
      }
    }
  }
}

// 64 million pixels pass through row by row.
TEST(Image, ALargePictureNeedsLittleMemory) {
  Folder folder;
  const std::size_t side = 8192;
  const Png png{.width = side,
                .height = side,
                .rows = std::string(1, '\0') + std::string(side, '\x33'),
                .times = side};
  const std::string path = folder.write("picture", png.bytes());
  const long before = peak_kilobytes();
  std::vector<float> values(16);
  read_image_values(path, {.width = 4, .height = 4}, true, values);
  for (const float v : values) EXPECT_NEAR(v, 0.2f, 1e-4f);
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kilobytes() - before, 8 << 10);
  }
}

}  // namespace
}  // namespace bnns::train
