// Folders of images with one folder per class.
#include "pictures.h"

namespace bnns::train {
namespace {

std::string grey(int value) {
  return "P2 2 1 255 " + std::to_string(value) + " 255";
}

void write_class(const Folder& folder, const std::string& name, int count) {
  for (int i = 0; i < count; ++i) {
    folder.write(name + "/" + std::to_string(i) + ".pgm", grey(i));
  }
}

TEST(ImageFolder, ClassesAndFilesAreSorted) {
  Folder folder;
  folder.write("dog/b.PGM", grey(3));
  folder.write("dog/a.jpg", grey(2));  // the content decides
  folder.write("cat/x.png", Png{.width = 2, .height = 1, .rows = {'\0', 9, 8}}.bytes());
  folder.write("cat/notes.txt", "not read");
  folder.write("cat/.hidden.png", "not read");
  folder.write(".git/x.png", "not read");
  folder.write("loose.png", "not read");
  const Data data = open_image_folder(folder.path());
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data.description().class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data.description().shape, (SampleShape{.width = 2, .height = 1}));
  EXPECT_EQ(data.description().kind, SampleKind::image);
  EXPECT_EQ(data.class_counts(), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(sample(data, 0).values[0], 9 / 255.0f);
  EXPECT_EQ(sample(data, 1).values[0], 2 / 255.0f);
  EXPECT_EQ(sample(data, 2).targets[0], 1);
}

TEST(ImageFolder, ImagesGetOneSizeAndOneNumberOfChannels) {
  Folder folder;
  folder.write("a/1.ppm", "P3 1 1 255 10 20 30");
  folder.write("b/1.pgm", grey(1));
  EXPECT_EQ(open_image_folder(folder.path()).description().shape,
            (SampleShape{.width = 1, .height = 1, .channels = 3}));
  const Data data = open_image_folder(folder.path(), {.width = 4, .height = 3, .channels = 1});
  EXPECT_EQ(data.description().shape, (SampleShape{.width = 4, .height = 3, .channels = 1}));
  EXPECT_EQ(sample(data, 0).values.size(), 12u);
  expect_error([&] { open_image_folder(folder.path(), {.resample = false}); }, Error::Kind::data,
               {"/b/1.pgm:", "2 x 1", "1 x 1", "resampling is off"});
  expect_error([&] { open_image_folder(folder.path(), {.channels = 2}); }, Error::Kind::usage,
               {"channels", "2", "1 (grey) or 3"});
  expect_error([&] { open_image_folder(folder.path(), {.width = 5000}); }, Error::Kind::usage,
               {"width", "5000"});
}

TEST(ImageFolder, TheChecksumIsOfNamesAndSizes) {
  Folder folder;
  write_class(folder, "a", 70);
  write_class(folder, "b", 70);
  const auto sum = [&] { return open_image_folder(folder.path(), {.width = 2}).checksum(); };
  const std::uint64_t before = sum();
  folder.write("b/57.pgm", grey(58));
  EXPECT_EQ(sum(), before);
  folder.write("b/57.pgm", grey(58) + " ");
  EXPECT_NE(sum(), before);
  folder.write("b/57.pgm", grey(57));
  EXPECT_EQ(sum(), before);
  std::filesystem::rename(folder.path("b/57.pgm"), folder.path("b/57a.pgm"));
  EXPECT_NE(sum(), before);
}

TEST(ImageFolder, RefusesWhatHasNoImages) {
  Folder folder;
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data, {"one folder per class"});
  folder.write("a/1.pgm", grey(1));
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data, {"1 sample"});
  folder.write("a/2.pgm", grey(1));
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data,
               {"class \"a\"", "at least 2 classes"});
  std::filesystem::create_directory(folder.path("b"));
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data, {"/b:", "no image in it"});
  folder.write("b/1.png", "GIF89a");
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data, {"/b/1.png:", "47 49 46 38"});
}

TEST(ImageFolder, AnImageThatIsCorruptBehindItsHeaderIsNamedWhenItIsRead) {
  Folder folder;
  write_class(folder, "a", 2);
  folder.write("b/1.pgm", "P5 2 1 255\nx");
  const Data data = open_image_folder(folder.path());
  expect_error([&] { sample(data, 2); }, Error::Kind::data,
               {"/b/1.pgm:", "needs at least 2 bytes"});
}

TEST(ImageFolder, IsSplitOrComesInParts) {
  Folder folder;
  write_class(folder, "a", 10);
  write_class(folder, "b", 20);
  const DataSplit cut = open_data(folder.path());
  EXPECT_EQ(cut.training.class_counts(), (std::vector<std::size_t>{8, 16}));
  EXPECT_EQ(cut.test.class_counts(), (std::vector<std::size_t>{1, 2}));

  Folder parts;
  write_class(parts, "train/a", 10);
  write_class(parts, "train/b", 10);
  write_class(parts, "test/b", 3);
  const DataSplit given = open_data(parts.path());
  EXPECT_EQ(given.training.size(), 18u);
  EXPECT_EQ(given.validation.size(), 2u);
  EXPECT_EQ(given.test.class_counts(), (std::vector<std::size_t>{0, 3}));
  write_class(parts, "val/a", 1);
  EXPECT_EQ(open_data(parts.path()).training.size(), 20u);
  write_class(parts, "test/c", 1);
  expect_error([&] { open_data(parts.path()); }, Error::Kind::data,
               {"/test:", "class \"c\"", "train"});
}

}  // namespace
}  // namespace bnns::train
