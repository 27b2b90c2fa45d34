// What the log says about a new pooling filter.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "openbnns/openbnns.h"
#include "support/workload.h"

namespace bnns::test {
namespace {

struct Geometry {
  size_t width, height, out_width, out_height, kernel, stride;
};

void create(BNNSPoolingFunction function, const Geometry& g) {
  BNNSLayerParametersPooling p = {};
  p.i_desc = ::test::array(BNNSDataLayoutImageCHW, {g.width, g.height, 1});
  p.o_desc = ::test::array(BNNSDataLayoutImageCHW, {g.out_width, g.out_height, 1});
  if (function == BNNSPoolingFunctionUnMax) std::swap(p.i_desc, p.o_desc);
  p.pooling_function = function;
  p.k_width = p.k_height = g.kernel;
  p.x_stride = p.y_stride = g.stride;
  BNNSFilter filter = BNNSFilterCreateLayerPooling(&p, nullptr);
  EXPECT_NE(filter, nullptr) << OpenBNNSGetLastError();
  BNNSFilterDestroy(filter);
}

// The message about a new filter names the kernels that were chosen.
std::string choice_of(BNNSPoolingFunction function, const Geometry& g) {
  std::string text;
  const auto keep = [](OpenBNNSLogLevel, const char* message, void* user) {
    *static_cast<std::string*>(user) = message;
  };
  OpenBNNSSetLogCallback(keep, &text);
  create(function, g);
  OpenBNNSSetLogCallback(nullptr, nullptr);
  const size_t begin = text.find("forward for ");
  return begin == text.npos ? text : text.substr(begin, text.find(", target") - begin);
}

TEST(PoolingChoice, FirstThatAcceptsTheProblem) {
  EXPECT_EQ(choice_of(BNNSPoolingFunctionMax, {56, 56, 28, 28, 2, 2}),
            "forward for 2x2 maximum at stride 2, backward for 2x2 maximum at stride 2");
  EXPECT_EQ(choice_of(BNNSPoolingFunctionAverageCountExcludePadding, {56, 56, 28, 28, 2, 2}),
            "forward for 2x2 average at stride 2, backward for 2x2 average at stride 2");
  EXPECT_EQ(choice_of(BNNSPoolingFunctionAverageCountIncludePadding, {7, 7, 1, 1, 7, 1}),
            "forward for global average of small planes, backward for global average of small "
            "planes");
  for (const BNNSPoolingFunction function :
       {BNNSPoolingFunctionMax, BNNSPoolingFunctionAverageCountIncludePadding,
        BNNSPoolingFunctionL2Norm, BNNSPoolingFunctionUnMax}) {
    EXPECT_EQ(choice_of(function, {56, 56, 52, 52, 5, 1}),
              "forward for any window, backward for any window");
  }
  // Planes too large for a plain sum, and windows that hang over the edge.
  EXPECT_EQ(choice_of(BNNSPoolingFunctionAverageCountIncludePadding, {56, 56, 1, 1, 56, 1}),
            "forward for any window, backward for any window");
  EXPECT_EQ(choice_of(BNNSPoolingFunctionMax, {55, 55, 28, 28, 2, 2}),
            "forward for any window, backward for any window");
}

std::vector<std::string> messages_of(BNNSPoolingFunction function, const Geometry& g) {
  std::vector<std::string> messages;
  const auto keep = [](OpenBNNSLogLevel level, const char* message, void* user) {
    EXPECT_EQ(level, OpenBNNSLogLevelInfo);
    static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  OpenBNNSSetLogCallback(keep, &messages);
  create(function, g);
  OpenBNNSSetLogCallback(nullptr, nullptr);
  return messages;
}

TEST(PoolingLog, NamesKernelAndStride) {
  const auto messages = messages_of(BNNSPoolingFunctionMax, {56, 54, 26, 18, 5, 2});
  ASSERT_FALSE(messages.empty());
  EXPECT_NE(messages.back().find(", kernel 5x5, stride 2x2, "), std::string::npos)
      << messages.back();
}

TEST(PoolingLog, FewerWindowsThanFit) {
  EXPECT_EQ(messages_of(BNNSPoolingFunctionMax, {28, 28, 14, 14, 2, 2}).size(), 1u);
  EXPECT_EQ(messages_of(BNNSPoolingFunctionMax, {29, 29, 14, 14, 2, 2}).size(), 1u);
  EXPECT_EQ(messages_of(BNNSPoolingFunctionMax, {29, 29, 15, 15, 2, 2}).size(), 1u)
      << "windows that overhang are not missing";
  const auto fewer = messages_of(BNNSPoolingFunctionMax, {28, 30, 13, 15, 2, 2});
  ASSERT_EQ(fewer.size(), 2u);
  EXPECT_EQ(fewer[0],
            "BNNSFilterCreateLayerPooling: o_desc has 13x15 windows, 14x15 fit i_desc; the cells "
            "behind the last window are not covered");
  const auto un_max = messages_of(BNNSPoolingFunctionUnMax, {28, 28, 14, 9, 2, 2});
  ASSERT_EQ(un_max.size(), 2u);
  EXPECT_EQ(un_max[0],
            "BNNSFilterCreateLayerPooling: i_desc has 14x9 windows, 14x14 fit o_desc; the cells "
            "behind the last window are not covered");
}

}  // namespace
}  // namespace bnns::test
