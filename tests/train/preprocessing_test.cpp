// Preprocessing: what is learnt, applied, written and read again; files for prediction.
// Augmentation.
#include <algorithm>
#include <cmath>
#include <set>

#include "pictures.h"
#include "train/data/augmentation.h"

namespace bnns::train {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<float>;

Values prepared(const Preprocessing& preprocessing, Values values) {
  preprocessing.apply(values);
  return values;
}

Preprocessing read_again(const Preprocessing& preprocessing) {
  return Preprocessing::from_json(preprocessing.to_json());
}

TEST(Preprocessing, StandardisesTheChannelsOfImages) {
  const Data data = Data::arrays({.shape = {.width = 2, .height = 1, .channels = 2},
                                  .class_names = {"a", "b"},
                                  .kind = SampleKind::image},
                                 {0, 1, 0.5f, 0.5f, 1, 0, 0.5f, 0.5f}, {0, 1});
  const Preprocessing p = Preprocessing::learn(data);
  EXPECT_EQ(p.values(), (std::vector<Standardization>{{0.5, 0.5}, {0.5, 1}}));
  EXPECT_EQ(prepared(p, {0, 1, 0.5f, 1}), (Values{-1, 1, 0, 0.5f}));
  EXPECT_EQ(read_again(p), p);
  Values targets = {1};
  p.apply_to_targets(targets);
  EXPECT_EQ(targets, Values{1});
  expect_error([&] { prepared(p, {1}); }, Error::Kind::usage, {"1 values", "have 4"});
}

TEST(Preprocessing, OfATableFillsInTheMeanAndLeavesCategories) {
  Folder folder;
  const std::string path =
      folder.write("t.csv", "n,constant,c,y\n1,7,u,10\n,7,v,20\n3,7,u,30.5\n5,7,?,19.5\n");
  const Preprocessing p = Preprocessing::learn(open_table(path));
  const double deviation = std::sqrt(8.0 / 3);
  ASSERT_EQ(p.values().size(), 4u);
  EXPECT_EQ(p.values()[0].mean, 3);
  EXPECT_NEAR(p.values()[0].deviation, deviation, 1e-12);
  EXPECT_EQ(p.values()[1], (Standardization{7, 1}));
  EXPECT_EQ(p.values()[2], Standardization{});
  const Values row = prepared(p, {NAN, 8, 0, 1});
  EXPECT_EQ(row, (Values{0, 1, 0, 1}));
  EXPECT_EQ(p.targets()[0].mean, 20);
  Values targets = {30.5f};
  p.apply_to_targets(targets);
  EXPECT_NEAR(targets[0], 10.5 / p.targets()[0].deviation, 1e-6);
  p.restore_targets(targets);
  EXPECT_NEAR(targets[0], 30.5f, 1e-5);
  EXPECT_EQ(read_again(p), p);
}

TEST(Preprocessing, LooksAtABoundedNumberOfSamples) {
  struct Counting final : DataSource {
    DataDescription d{.shape = {.width = 1 << 14}, .class_names = {"a"}};
    std::size_t reads = 0, last = 0;
    const DataDescription& description() const override { return d; }
    std::size_t size() const override { return 1'000'000; }
    void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
      std::ranges::fill(values, static_cast<float>(index));
      targets[0] = 0;
      last = index;
      ++reads;
    }
  };
  const auto source = std::make_shared<Counting>();
  const Preprocessing p = Preprocessing::learn(Data(source));
  EXPECT_EQ(source->reads, 1024u);
  EXPECT_GT(source->last, 990'000u);
  EXPECT_NEAR(p.values()[0].mean, 500'000, 1000);
}

TEST(Preprocessing, WithoutAnyDataChangesNothing) {
  EXPECT_EQ(prepared(Preprocessing(), {1, 2}), (Values{1, 2}));
  EXPECT_EQ(read_again(Preprocessing()), Preprocessing());
}

TEST(Preprocessing, RefusesTextThatItWouldNotWrite) {
  Folder folder;
  const std::string path = folder.write("t.csv", "n,c,y\n1,u,10.5\n2,v,20\n");
  const std::string good = Preprocessing::learn(open_table(path)).to_json();
  const auto refused = [&](const std::string& from, const std::string& to, const Texts& parts) {
    std::string text = good;
    const std::size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from << " in " << good;
    text.replace(place, from.size(), to);
    expect_error([&] { Preprocessing::from_json(text, "model"); }, Error::Kind::model, parts);
  };
  refused("\"task\":\"regression\"", "\"task\":\"other\"", {"model: task", "other", "regression"});
  refused("\"task\":", "\"tusk\":", {"no field \"task\""});
  refused("{\"class", "{\"more\":1,\"class", {"\"more\"", "not known"});
  refused("\"shape\":[3,1,1]", "\"shape\":[3,1]", {"shape is [3,1]", "width, height and channels"});
  refused("\"shape\":[3,1,1]", "\"shape\":[0,1,1]", {"shape", "at least 1"});
  refused("\"shape\":[3,1,1]", "\"shape\":[-3,1,1]", {"shape", "at least 1"});
  refused("\"shape\":[3,1,1]", "\"shape\":[4294967296,4294967296,1]", {"shape", "at most"});
  refused("\"shape\":[3,1,1]", "\"shape\":[4,1,1]", {"columns", "have 3 values"});
  refused("[\"u\",\"v\"]", "[\"v\",\"u\"]", {"columns[1]: categories", "sorted"});
  refused("[\"u\",\"v\"]", "[\"u\",\"u\"]", {"columns[1]: categories", "twice"});
  refused("[\"u\",\"v\"]", "[\"u\",7]", {"categories", "list of texts"});
  refused("\"mean\":[", "\"mean\":[\"x\",", {"mean", "must have a number"});
  refused("\"deviation\":[0.5", "\"deviation\":[0.0", {"deviation", "above 0"});
  refused("\"deviation\":[0.5", "\"deviation\":[-1", {"deviation", "above 0"});
  refused("\"target_mean\":[", "\"target_mean\":[1,", {"target_mean", "each target"});
  refused("}", "}}", {"model"});
  for (std::size_t n = 0; n < good.size(); ++n) {
    expect_error([&] { Preprocessing::from_json(good.substr(0, n), "model"); }, Error::Kind::model,
                 {"model"});
  }
}

TEST(Prediction, APictureGetsTheFormOfTheTrainingData) {
  Folder folder;
  folder.write("data/a/1.pgm", "P2 2 1 255 0 255");
  folder.write("data/b/1.pgm", "P2 2 1 255 255 0");
  const Preprocessing p = Preprocessing::learn(open_image_folder(folder.path("data")));
  const std::string picture = folder.write("x.ppm", "P3 4 1 255 10 10 10 20 20 20 0 0 0 0 0 0");
  const Values values = read_image(picture, read_again(p));
  ASSERT_EQ(values.size(), 2u);
  EXPECT_NEAR(values[0], 15 / 255.0f, 1e-6f);
  EXPECT_EQ(values[1], 0);
  expect_error([&] { read_table(folder.path("x.csv"), p); }, Error::Kind::usage,
               {"not trained on tables"});
  expect_error([&] { read_image(folder.path("none.png"), p); }, Error::Kind::file, {"none.png"});
}

TEST(Prediction, ATableIsFoundByItsNames) {
  Folder folder;
  const std::string path = folder.write("t.csv", "2019,c,y\n1,u,no\n2,v,yes\n3,u,no\n");
  const Preprocessing p = Preprocessing::learn(open_table(path, {.header = TableHeader::present}));
  const auto read = [&](const std::string& text) {
    return read_table(folder.write("p.csv", text), p);
  };
  const Data named = read("c,more,2019,y\nv,9,5,yes\nw,9,,maybe\nu,8,1,\n");
  EXPECT_EQ(sample(named, 0).values, (Values{5, 0, 1}));
  EXPECT_EQ(sample(named, 0).targets, Values{1});
  EXPECT_TRUE(std::isnan(sample(named, 1).values[0]));
  EXPECT_EQ(sample(named, 1).values[1] + sample(named, 1).values[2], 0);
  EXPECT_TRUE(std::isnan(sample(named, 1).targets[0]));
  EXPECT_TRUE(std::isnan(sample(named, 2).targets[0]));
  EXPECT_EQ(named.class_of(0), 1u);
  expect_error([&] { named.class_counts(); }, Error::Kind::data,
               {"target of sample 1 is nan", "2 classes"});
  EXPECT_EQ(sample(read("5,v\n"), 0).values, (Values{5, 0, 1}));
  expect_error([&] { read("2019,y\n5,no\n"); }, Error::Kind::data, {"/p.csv:", "no column \"c\""});
  const Data bad = read("2019,c\n5,u\nx,u\n");
  expect_error([&] { sample(bad, 1); }, Error::Kind::data,
               {"/p.csv: line 3, column \"2019\"", "\"x\" is no number"});
  expect_error([&] { read_image(path, p); }, Error::Kind::usage, {"not trained on pictures"});
}

TEST(Augmentation, MovesByWholePixelsAndMirrors) {
  const SampleShape shape = {.width = 3, .height = 2, .channels = 2};
  const Values image = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  const auto expected = [&](int dx, int dy, bool mirrored) {
    Values result(12);
    for (int c = 0; c < 2; ++c) {
      for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 3; ++x) {
          const int fx = x - dx, fy = y - dy;
          if (fx < 0 || fx > 2 || fy < 0 || fy > 1) continue;
          result[c * 6 + y * 3 + x] = image[c * 6 + fy * 3 + (mirrored ? 2 - fx : fx)];
        }
      }
    }
    return result;
  };
  std::set<Values> possible, seen;
  for (int dx = -4; dx <= 4; ++dx) {
    for (int dy = -4; dy <= 4; ++dy) {
      for (const bool mirrored : {false, true}) possible.insert(expected(dx, dy, mirrored));
    }
  }
  for (std::uint64_t n = 0; n < 5000; ++n) {
    Values values = image;
    impl::augment(values, shape, {.max_shift = 4, .flip = true}, CounterRandom{1, n});
    seen.insert(values);
  }
  EXPECT_EQ(seen, possible);
  Values same = image;
  impl::augment(same, shape, {}, CounterRandom{1, 2});
  EXPECT_EQ(same, image);
}

}  // namespace
}  // namespace bnns::train
