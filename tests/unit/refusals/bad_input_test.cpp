// Prints how many bad inputs the tables of bad_*_test.cpp covered, and tests the life of a filter:
// destroyed twice, used after that, called in a way its kind does not know.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

namespace bnns::test {
namespace {

class PrintCount : public testing::Environment {
 public:
  void TearDown() override { std::printf("bad inputs covered: %d\n", refused_inputs.load()); }
};
[[maybe_unused]] const auto* const print_count = testing::AddGlobalTestEnvironment(new PrintCount);

// One of the functions that take a filter; `reported` is its failure.
struct FilterCall {
  const char* function;
  bool (*refused)(BNNSFilter);
};

float values[16] = {};
size_t indices[16] = {};
const void* inputs[2] = {values, values};
void* outputs[1] = {values + 8};
const size_t strides[2] = {0, 0};
BNNSNDArrayDescriptor delta() {
  return vector_of(2, values + 8);
}

const FilterCall kFilterCalls[] = {
    {"BNNSFilterApply", [](BNNSFilter f) { return BNNSFilterApply(f, values, values + 8) != 0; }},
    {"BNNSFilterApplyBatch",
     [](BNNSFilter f) { return BNNSFilterApplyBatch(f, 1, values, 0, values + 8, 0) != 0; }},
    {"BNNSFilterApplyBackwardBatch",
     [](BNNSFilter f) {
       BNNSNDArrayDescriptor d = delta(), e = vector_of(2, values);
       return BNNSFilterApplyBackwardBatch(f, 1, values, 0, &d, 0, values, 0, &e, 0, nullptr,
                                           nullptr) != 0;
     }},
    {"BNNSGetPointer",
     [](BNNSFilter f) { return BNNSGetPointer(f, BNNSPointerSpecifierAlpha).data == nullptr; }},
    {"OpenBNNSFilterReserve", [](BNNSFilter f) { return OpenBNNSFilterReserve(f, 1, 1) != 0; }},
};

// Functions that know neither activation nor fully connected filters.
const FilterCall kForeignCalls[] = {
    {"BNNSFilterApplyTwoInput",
     [](BNNSFilter f) { return BNNSFilterApplyTwoInput(f, values, values, values + 8) != 0; }},
    {"BNNSFilterApplyTwoInputBatch",
     [](BNNSFilter f) {
       return BNNSFilterApplyTwoInputBatch(f, 1, values, 0, values, 0, values + 8, 0) != 0;
     }},
    {"BNNSPoolingFilterApplyBatch",
     [](BNNSFilter f) {
       return BNNSPoolingFilterApplyBatch(f, 1, values, 0, values + 8, 0, indices, 0) != 0;
     }},
    {"BNNSNormalizationFilterApplyBatch",
     [](BNNSFilter f) {
       return BNNSNormalizationFilterApplyBatch(f, 1, values, 0, values + 8, 0, false) != 0;
     }},
    {"BNNSFusedFilterApplyBatch",
     [](BNNSFilter f) {
       return BNNSFusedFilterApplyBatch(f, 1, values, 0, values + 8, 0, false) != 0;
     }},
    {"BNNSArithmeticFilterApplyBatch",
     [](BNNSFilter f) {
       return BNNSArithmeticFilterApplyBatch(f, 1, 2, inputs, strides, outputs[0], 0) != 0;
     }},
};

Filter small_activation() {
  return make_activation(vector_of(2), vector_of(2), activation(BNNSActivationFunctionLinear, 2));
}

Filter small_fully_connected() {
  static float weights[4] = {1, 0, 0, 1};
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = p.o_desc = vector_of(2);
  p.w_desc = matrix_of(2, 2, weights);
  return Filter(BNNSFilterCreateLayerFullyConnected(&p, nullptr));
}

void expect_filter_refused(const FilterCall& call, BNNSFilter filter,
                           const std::vector<std::string>& words) {
  SCOPED_TRACE(call.function);
  std::fill_n(values, 16, 3.0f);
  forget_reason();
  EXPECT_TRUE(call.refused(filter));
  expect_reason(OpenBNNSGetLastError(), call.function, words);
  for (const float value : values) EXPECT_EQ(value, 3);
  ++refused_inputs;
}

TEST(BadFilter, NullDestroyedAndForeign) {
  const Filter live = small_activation();
  BNNSFilter dead = BNNSFilter{};
  {
    Filter dying = small_activation();
    dead = dying.get();
  }
  for (const FilterCall& call : kFilterCalls) {
    expect_filter_refused(call, nullptr, {"filter", "NULL"});
    expect_filter_refused(call, dead, {"filter", "no live filter"});
    expect_filter_refused(call, values, {"filter", "no live filter"});
    expect_filter_refused(call, reinterpret_cast<BNNSFilter>(~uintptr_t{0}), {"filter"});
    EXPECT_FALSE(kFilterCalls[0].refused(live.get())) << OpenBNNSGetLastError();
    EXPECT_EQ(values[8], 6);
  }
}

TEST(BadFilter, WrongKindOfCall) {
  const Filter element = small_activation(), dense = small_fully_connected();
  for (const FilterCall& call : kForeignCalls) {
    expect_filter_refused(call, element.get(), {});
    expect_filter_refused(call, dense.get(), {});
    expect_filter_refused(call, nullptr, {});
  }
  EXPECT_FALSE(kFilterCalls[1].refused(element.get())) << OpenBNNSGetLastError();
  EXPECT_FALSE(kFilterCalls[1].refused(dense.get())) << OpenBNNSGetLastError();
}

TEST(BadFilter, PointersOfFiltersWithout) {
  const Filter dense = small_fully_connected(),
               tanh = make_activation(vector_of(2), vector_of(2),
                                      activation(BNNSActivationFunctionTanh));
  const Filter linear = small_activation();
  const auto refused = [](const Filter& filter, uint32_t target,
                          const std::vector<std::string>& words) {
    forget_reason();
    const auto d = BNNSGetPointer(filter.get(), static_cast<BNNSPointerSpecifier>(target));
    EXPECT_EQ(d.data, nullptr);
    expect_reason(OpenBNNSGetLastError(), "BNNSGetPointer", words);
    ++refused_inputs;
  };
  refused(dense, BNNSPointerSpecifierAlpha, {"fully connected"});
  refused(dense, BNNSPointerSpecifierBeta, {"fully connected"});
  refused(tanh, BNNSPointerSpecifierAlpha, {"target", "Alpha", "Tanh"});
  refused(tanh, BNNSPointerSpecifierBeta, {"target", "Beta", "Tanh"});
  refused(linear, BNNSPointerSpecifierBeta, {"target", "Beta", "Linear"});
  for (const uint32_t target : {2u, uint32_t{INT32_MAX}, UINT32_MAX})
    refused(linear, target, {"target", std::to_string(target), "BNNSPointerSpecifier"});
  EXPECT_NE(BNNSGetPointer(linear.get(), BNNSPointerSpecifierAlpha).data, nullptr);
}

TEST(BadFilter, DestroyedTwice) {
  BNNSFilterDestroy(nullptr);
  BNNSFilter filter = nullptr;
  {
    Filter owner = small_activation();
    filter = owner.get();
  }
  forget_reason();
  BNNSFilterDestroy(filter);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterDestroy", {"filter", "no live filter"});
  ++refused_inputs;
}

TEST(BadFilter, Reserve) {
  const Filter filter = small_fully_connected();
  for (const size_t callers : {size_t{0}, size_t{33}, SIZE_MAX}) {
    EXPECT_NE(OpenBNNSFilterReserve(filter.get(), 4, callers), 0);
    expect_reason(OpenBNNSGetLastError(), "OpenBNNSFilterReserve",
                  {"callers", std::to_string(callers), "1 to 32"});
    ++refused_inputs;
  }
  EXPECT_EQ(OpenBNNSFilterReserve(filter.get(), 4, 32), 0) << OpenBNNSGetLastError();
}

}  // namespace
}  // namespace bnns::test
