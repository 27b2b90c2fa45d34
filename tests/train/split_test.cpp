// Splitting, counting and recognising data, and the drawn digits.
#include <algorithm>
#include <cmath>
#include <set>

#include "files.h"
#include "train/content_hash.h"

namespace bnns::train {
namespace {

// 100 samples; the value of a sample is its number, every fifth one is of class b.
Data hundred() {
  std::vector<float> values, targets;
  for (int n = 0; n < 100; ++n) {
    values.push_back(static_cast<float>(n));
    targets.push_back(n % 5 == 0 ? 1.0f : 0.0f);
  }
  return Data::arrays({.class_names = {"a", "b"}}, values, targets);
}

std::set<float> values_of(const Data& data) {
  std::set<float> values;
  for (std::size_t n = 0; n < data.size(); ++n) values.insert(sample(data, n).values[0]);
  return values;
}

TEST(Split, EverySampleIsInOnePartAndClassesKeepTheirShare) {
  const DataSplit parts = split_data(hundred(), 0.1, 0.2, 1);
  EXPECT_EQ(parts.training.class_counts(), (std::vector<std::size_t>{56, 14}));
  EXPECT_EQ(parts.validation.class_counts(), (std::vector<std::size_t>{8, 2}));
  EXPECT_EQ(parts.test.class_counts(), (std::vector<std::size_t>{16, 4}));
  std::set<float> all = values_of(parts.training);
  all.merge(values_of(parts.validation));
  all.merge(values_of(parts.test));
  EXPECT_EQ(all.size(), 100u);
}

TEST(Split, IsAFunctionOfTheSeed) {
  const auto test_part = [](std::uint64_t seed) {
    return values_of(split_data(hundred(), 0.1, 0.2, seed).test);
  };
  EXPECT_EQ(test_part(1), test_part(1));
  EXPECT_NE(test_part(1), test_part(2));
}

TEST(Split, TheOnlySampleOfAClassIsTrainedOn) {
  const Data data = Data::arrays({.class_names = {"a", "b"}}, {1, 2, 3}, {0, 0, 1});
  const DataSplit parts = split_data(data, 0.4, 0.5, 1);
  EXPECT_EQ(parts.training.class_counts(), (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(parts.test.size(), 1u);
  EXPECT_EQ(parts.validation.size(), 0u);
}

TEST(Split, RefusesFractionsThatLeaveNothing) {
  expect_error([] { split_data(hundred(), 0.5, 0.5, 1); }, Error::Kind::usage,
               {"0.5 and 0.5", "left for training"});
  expect_error([] { split_data(hundred(), -0.1, 0.5, 1); }, Error::Kind::usage,
               {"validation_fraction", "-0.1"});
  expect_error([] { split_data(hundred(), 0, std::nan(""), 1); }, Error::Kind::usage,
               {"test_fraction", "nan"});
}

TEST(Checksum, TellsOtherDataAndAnotherOrder) {
  const std::uint64_t sum = hundred().checksum();
  EXPECT_EQ(sum, hundred().checksum());
  std::vector<std::size_t> order(100);
  for (std::size_t n = 0; n < 100; ++n) order[n] = 99 - n;
  EXPECT_NE(sum, hundred().subset(order).checksum());
  EXPECT_NE(sum, Data::arrays({.class_names = {"a", "c"}}, {1, 2}, {0, 1}).checksum());
  EXPECT_NE(synthetic_digits(100, 1).checksum(), synthetic_digits(100, 2).checksum());
}

TEST(Checksum, SeesEveryValueAndTarget) {
  const DataDescription description = {.shape = {.width = 3}, .class_names = {"a", "b"}};
  const std::vector<float> values(3000, 0.5f), targets(1000, 1);
  const std::uint64_t sum = Data::arrays(description, values, targets).checksum();
  for (const std::size_t n : {0, 1, 57, 500, 999}) {
    std::vector<float> others = values, labels = targets;
    others[3 * n + 2] = std::nextafter(0.5f, 1.0f);
    labels[n] = 0;
    EXPECT_NE(sum, Data::arrays(description, others, targets).checksum()) << n;
    EXPECT_NE(sum, Data::arrays(description, values, labels).checksum()) << n;
  }
  EXPECT_EQ(Data().checksum(), 0u);
}

// A kind of data that says nothing of its content.
class Plain final : public DataSource {
 public:
  explicit Plain(float last) : last_(last) {}
  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return 200; }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    values[0] = index == 199 ? last_ : 0;
    targets[0] = 0;
  }

 private:
  DataDescription description_ = {.class_names = {"a", "b"}};
  float last_;
};

TEST(Checksum, OfAnotherKindOfDataReadsAllSamples) {
  const auto sum = [](float last) { return Data(std::make_shared<Plain>(last)).checksum(); };
  EXPECT_EQ(sum(1), sum(1));
  EXPECT_NE(sum(1), sum(2));
}

// Two contents that differ in one bit, one length or one border must not look alike.
TEST(ContentHash, TellsSmallDifferences) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  const auto see = [&](const std::string& text) {
    ContentHash hash;
    hash.add(text);
    seen.insert(hash.value());
    ++count;
  };
  for (std::size_t length = 0; length < 100; ++length) {
    std::string text(length, '\0');
    see(text);
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      text[bit / 8] = static_cast<char>(1 << bit % 8);
      see(text);
      text[bit / 8] = 0;
    }
  }
  EXPECT_EQ(seen.size(), count);
  ContentHash first, second;
  first.add("ab"), first.add("c");
  second.add("a"), second.add("bc");
  EXPECT_NE(first.value(), second.value());
}

TEST(Arrays, RefusesNumbersThatAreNotFinite) {
  expect_error(
      [] {
        Data::arrays({.shape = {.width = 2}, .class_names = {"a", "b"}}, {1, 2, std::nanf(""), 4},
                     {0, 1});
      },
      Error::Kind::data, {"value 0 of sample 1 is nan", "finite"});
  expect_error(
      [] { Data::arrays({.task = Task::regression, .target_names = {"y"}}, {1}, {INFINITY}); },
      Error::Kind::data, {"target 0 is inf", "finite"});
}

TEST(SyntheticDigits, AreAFunctionOfSeedAndIndex) {
  const Data few = synthetic_digits(20, 5), many = synthetic_digits(1000, 5);
  const Sample first = sample(few, 17);
  sample(many, 999);
  EXPECT_EQ(sample(many, 17).values, first.values);
  EXPECT_EQ(first.targets[0], 7);
  EXPECT_NE(sample(many, 27).values, first.values);
  EXPECT_NE(sample(synthetic_digits(20, 6), 17).values, first.values);
  EXPECT_EQ(many.class_counts(), std::vector<std::size_t>(10, 100));
}

TEST(SyntheticDigits, HaveInkInsideThePicture) {
  const Data data = synthetic_digits(2000, 1);
  for (std::size_t n = 0; n < data.size(); ++n) {
    const std::vector<float> values = sample(data, n).values;
    EXPECT_TRUE(std::ranges::all_of(values, [](float v) { return v >= 0 && v <= 1; }));
    EXPECT_GT(std::ranges::count_if(values, [](float v) { return v > 0.4f; }), 15) << n;
  }
}

TEST(OpenData, Digits) {
  const DataSplit parts = open_data("synthetic-digits:200");
  EXPECT_EQ(parts.training.size(), 160u);
  EXPECT_EQ(parts.validation.size(), 20u);
  EXPECT_EQ(parts.test.size(), 20u);
  EXPECT_EQ(open_data("synthetic-digits").training.size(), 9600u);
  for (const char* text : {"synthetic-digits:", "synthetic-digits:x", "synthetic-digits:1",
                           "synthetic-digits:-5", "synthetic-digits:99999999999999999999"}) {
    expect_error([&] { open_data(text); }, Error::Kind::usage, {text, "between 2 and"});
  }
}

TEST(OpenData, FolderOfIdxFiles) {
  Folder folder;
  const auto idx3 = [](char count) {
    return big_endian(0x803, 4) + big_endian(static_cast<std::uint64_t>(count), 4) +
           big_endian(1, 4) + big_endian(2, 4) +
           std::string(2 * static_cast<std::size_t>(count), 'x');
  };
  const auto idx1 = [](const std::string& labels) {
    return big_endian(0x801, 4) + big_endian(labels.size(), 4) + labels;
  };
  folder.write("train-images-idx3-ubyte", idx3(20));
  folder.write("train-labels-idx1-ubyte.gz",
               gzip(idx1(std::string(10, '\0') + std::string(10, '\1'))));
  EXPECT_EQ(open_data(folder.path()).test.size(), 2u);

  folder.write("t10k-images-idx3-ubyte", idx3(3));
  expect_error([&] { open_data(folder.path()); }, Error::Kind::file, {"t10k-labels-idx1-ubyte"});
  folder.write("t10k-labels-idx1-ubyte", idx1({0, 1, 1}));
  const DataSplit parts = open_data(folder.path());
  EXPECT_EQ(parts.training.size(), 18u);
  EXPECT_EQ(parts.validation.size(), 2u);
  EXPECT_EQ(parts.test.class_counts(), (std::vector<std::size_t>{1, 2}));
  folder.write("t10k-labels-idx1-ubyte", idx1({0, 1, 2}));
  expect_error([&] { open_data(folder.path()); }, Error::Kind::data,
               {"t10k-labels", "label 2 is 2", "training"});
  const DataSplit pair = open_data(folder.path("train-images-idx3-ubyte") + "," +
                                   folder.path("train-labels-idx1-ubyte.gz"));
  EXPECT_EQ(pair.training.size(), 16u);
}

TEST(OpenData, RefusesWhatCannotBeSplit) {
  Folder folder;
  expect_error([&] { open_data(folder.path("nothing")); }, Error::Kind::file,
               {"/nothing:", "no such file or folder"});
  expect_error([&] { open_data(folder.write("a.txt", "x")); }, Error::Kind::usage,
               {"/a.txt:", ".csv"});
  const std::string images =
      big_endian(0x803, 4) + big_endian(2, 4) + big_endian(1, 4) + big_endian(1, 4) + "xx";
  const std::string labels = big_endian(0x801, 4) + big_endian(2, 4);
  const std::string pair = folder.write("i", images) + "," + folder.write("l", labels + "\5\5");
  expect_error([&] { open_data(pair); }, Error::Kind::data, {"class \"5\"", "at least 2 classes"});
}

// Debian's package dataset-fashion-mnist, where it is installed.
TEST(OpenData, FashionMnist) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
  const DataSplit parts = open_data(folder);
  EXPECT_EQ(parts.training.size(), 54000u);
  EXPECT_EQ(parts.validation.class_counts(), std::vector<std::size_t>(10, 600));
  EXPECT_EQ(parts.test.class_counts(), std::vector<std::size_t>(10, 1000));
  EXPECT_EQ(parts.test.description().class_names[9], "Ankle boot");
  EXPECT_EQ(sample(parts.test, 0).targets[0], 9);
}

}  // namespace
}  // namespace bnns::train
