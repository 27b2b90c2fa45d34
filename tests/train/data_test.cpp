// Selections of samples, and arrays in memory.
#include <gtest/gtest.h>
#include <openbnns/train.hpp>

#include <vector>

namespace bnns::train {
namespace {

Data three_samples() {
  return Data::arrays({.shape = {.width = 2}, .class_names = {"no", "yes"}}, {1, 2, 3, 4, 5, 6},
                      {0, 1, 0});
}

TEST(Data, ReadsArrays) {
  std::vector<float> values(2), targets(1);
  three_samples().read(1, values, targets);
  EXPECT_EQ(values, (std::vector<float>{3, 4}));
  EXPECT_EQ(targets[0], 1);
}

TEST(Data, SubsetOfASubsetKeepsTheSamples) {
  const Data data =
      three_samples().subset(std::vector<std::size_t>{2, 1}).subset(std::vector<std::size_t>{0});
  std::vector<float> values(2), targets(1);
  ASSERT_EQ(data.size(), 1u);
  data.read(0, values, targets);
  EXPECT_EQ(values, (std::vector<float>{5, 6}));
}

TEST(Data, RefusesAClassThatDoesNotExist) {
  try {
    Data::arrays({.class_names = {"a", "b"}}, {1, 2}, {0, 2});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::data);
    EXPECT_NE(std::string(error.what()).find("target 1 is 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace bnns::train
