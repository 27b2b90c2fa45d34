// Handles: a destroyed, foreign or damaged one is refused with a reason by every function that
// takes a filter, however many filters come and go. The table's own limits are tried on a table of
// the test.
#include "core/handle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/workload.h"

namespace {

using bnns::impl::HandleKind;
using bnns::impl::HandleTable;

BNNSFilter make_relu() {
  BNNSLayerParametersActivation p = {};
  p.i_desc = p.o_desc = test::vector(4);
  p.activation.function = BNNSActivationFunctionRectifiedLinear;
  return BNNSFilterCreateLayerActivation(&p, nullptr);
}

bool works(BNNSFilter filter) {
  const float in[4] = {-1, 2, -3, 4};
  float out[4] = {};
  return BNNSFilterApply(filter, in, out) == 0 && out[0] == 0 && out[1] == 2 && out[3] == 4;
}

// A function that takes a filter, called with zeros for everything else: on a live filter many of
// these calls succeed (a batch of 0), so that a failure is about the handle.
struct Taker {
  const char* name;
  int (*call)(BNNSFilter filter);
  bool implemented = true;
};

template <auto function>
struct WithZeros;
template <class... Rest, int (*function)(BNNSFilter, Rest...)>
struct WithZeros<function> {
  static int call(BNNSFilter filter) { return function(filter, Rest{}...); }
};

int reserve(BNNSFilter filter) {
  return OpenBNNSFilterReserve(filter, 1, 1);
}
int get_pointer(BNNSFilter filter) {
  return BNNSGetPointer(filter, BNNSPointerSpecifierAlpha).data == nullptr ? -1 : 0;
}
int destroy(BNNSFilter filter) {
  const std::string before = OpenBNNSGetLastError();
  BNNSFilterDestroy(filter);
  return OpenBNNSGetLastError() == before ? 0 : -1;
}

constexpr Taker kTakers[] = {
    {"BNNSFilterApply", WithZeros<BNNSFilterApply>::call},
    {"BNNSFilterApplyBatch", WithZeros<BNNSFilterApplyBatch>::call},
    {"BNNSFilterApplyBackwardBatch", WithZeros<BNNSFilterApplyBackwardBatch>::call},
    {"BNNSGetPointer", get_pointer},
    {"OpenBNNSFilterReserve", reserve},
    {"BNNSFilterDestroy", destroy},
    {"BNNSFilterApplyTwoInput", WithZeros<BNNSFilterApplyTwoInput>::call, false},
    {"BNNSFilterApplyTwoInputBatch", WithZeros<BNNSFilterApplyTwoInputBatch>::call, false},
    {"BNNSPoolingFilterApplyBatch", WithZeros<BNNSPoolingFilterApplyBatch>::call},
    {"BNNSPoolingFilterApplyBatchEx", WithZeros<BNNSPoolingFilterApplyBatchEx>::call},
    {"BNNSNormalizationFilterApplyBatch", WithZeros<BNNSNormalizationFilterApplyBatch>::call},
    {"BNNSFusedFilterApplyBatch", WithZeros<BNNSFusedFilterApplyBatch>::call, false},
    {"BNNSFusedFilterApplyMultiInputBatch", WithZeros<BNNSFusedFilterApplyMultiInputBatch>::call,
     false},
    {"BNNSArithmeticFilterApplyBatch", WithZeros<BNNSArithmeticFilterApplyBatch>::call, false},
    {"BNNSApplyMultiheadAttention", WithZeros<BNNSApplyMultiheadAttention>::call, false},
    {"BNNSPoolingFilterApplyBackwardBatch", WithZeros<BNNSPoolingFilterApplyBackwardBatch>::call},
    {"BNNSPoolingFilterApplyBackwardBatchEx",
     WithZeros<BNNSPoolingFilterApplyBackwardBatchEx>::call},
    {"BNNSFilterApplyBackwardTwoInputBatch", WithZeros<BNNSFilterApplyBackwardTwoInputBatch>::call,
     false},
    {"BNNSNormalizationFilterApplyBackwardBatch",
     WithZeros<BNNSNormalizationFilterApplyBackwardBatch>::call},
    {"BNNSFusedFilterApplyBackwardBatch", WithZeros<BNNSFusedFilterApplyBackwardBatch>::call,
     false},
    {"BNNSFusedFilterApplyBackwardMultiInputBatch",
     WithZeros<BNNSFusedFilterApplyBackwardMultiInputBatch>::call, false},
    {"BNNSArithmeticFilterApplyBackwardBatch",
     WithZeros<BNNSArithmeticFilterApplyBackwardBatch>::call, false},
    {"BNNSPermuteFilterApplyBackwardBatch", WithZeros<BNNSPermuteFilterApplyBackwardBatch>::call,
     false},
    {"BNNSLossFilterApplyBatch", WithZeros<BNNSLossFilterApplyBatch>::call, false},
    {"BNNSLossFilterApplyBackwardBatch", WithZeros<BNNSLossFilterApplyBackwardBatch>::call, false},
    {"BNNSApplyMultiheadAttentionBackward", WithZeros<BNNSApplyMultiheadAttentionBackward>::call,
     false},
};

void expect_refused(void* handle) {
  for (const Taker& taker : kTakers) {
    OpenBNNSSetTarget("clears the last error by another one");
    EXPECT_EQ(taker.call(handle), -1) << taker.name << " accepted " << handle;
    const std::string reason = OpenBNNSGetLastError();
    EXPECT_EQ(reason.rfind(std::string(taker.name) + ": ", 0), 0u) << reason;
    if (taker.implemented) {
      EXPECT_NE(reason.find("no live filter"), std::string::npos) << reason;
    }
  }
}

// Runs first: no table exists yet.
TEST(Handle, ForeignPointersBeforeTheFirstFilter) {
  int local = 0;
  expect_refused(reinterpret_cast<void*>(1));
  expect_refused(&local);
}

TEST(Handle, ALiveOneIsAccepted) {
  BNNSFilter filter = make_relu();
  ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
  EXPECT_TRUE(works(filter));
  EXPECT_EQ(BNNSFilterApplyBatch(filter, 0, nullptr, 0, nullptr, 0), 0);
  EXPECT_EQ(reserve(filter), 0);
  EXPECT_EQ(destroy(filter), 0) << OpenBNNSGetLastError();
}

TEST(Handle, DestroyedIsRefusedEverywhere) {
  BNNSFilter filter = make_relu();
  BNNSFilterDestroy(filter);
  expect_refused(filter);
}

TEST(Handle, ForeignPointersAreRefused) {
  BNNSFilter filter = make_relu();
  int local = 0;
  const std::vector<int> heap(16);
  const auto address = reinterpret_cast<uintptr_t>(filter);
  const uintptr_t candidates[] = {1,
                                  63,
                                  64,
                                  reinterpret_cast<uintptr_t>(&local),
                                  reinterpret_cast<uintptr_t>(heap.data()),
                                  reinterpret_cast<uintptr_t>(&make_relu),
                                  address + 1,
                                  address + 7,
                                  address - 1,
                                  address + 64,
                                  address - 64,
                                  address + 64 * 1000,
                                  address + (uintptr_t{1} << 24),  // the size of the table
                                  address - (uintptr_t{1} << 24),
                                  uintptr_t{1} << 63,
                                  UINTPTR_MAX - 63,
                                  UINTPTR_MAX};
  for (uintptr_t candidate : candidates) expect_refused(reinterpret_cast<void*>(candidate));
  EXPECT_TRUE(works(filter)) << "the attempts have damaged a live filter";
  BNNSFilterDestroy(filter);
}

TEST(Handle, DestroyingNullIsSilent) {
  OpenBNNSSetTarget("a reason that must stay");
  const std::string before = OpenBNNSGetLastError();
  BNNSFilterDestroy(nullptr);
  EXPECT_EQ(OpenBNNSGetLastError(), before);
}

TEST(Handle, NullIsRefusedByTheOthers) {
  float data[4] = {};
  EXPECT_EQ(BNNSFilterApply(nullptr, data, data), -1);
  EXPECT_STREQ(OpenBNNSGetLastError(), "BNNSFilterApply: filter is NULL");
  EXPECT_EQ(OpenBNNSFilterReserve(nullptr, 1, 1), -1);
  EXPECT_EQ(BNNSGetPointer(nullptr, BNNSPointerSpecifierAlpha).data, nullptr);
}

// Slots are used again; the generation and the waiting list keep old handles apart from new ones.
TEST(Handle, StaleOnesStayRefused) {
  std::vector<BNNSFilter> stale;
  for (int i = 0; i < 20; ++i) stale.push_back(make_relu());
  for (BNNSFilter filter : stale) BNNSFilterDestroy(filter);
  const int creations = test::kSanitized ? 5000 : 50000;
  for (int i = 0; i < creations; ++i) {
    BNNSFilter filter = make_relu();
    ASSERT_EQ(BNNSFilterApplyBatch(filter, 0, nullptr, 0, nullptr, 0), 0);
    BNNSFilter old = stale[static_cast<size_t>(i) % stale.size()];
    ASSERT_NE(filter, old);
    ASSERT_EQ(BNNSFilterApplyBatch(old, 0, nullptr, 0, nullptr, 0), -1) << "after " << i;
    BNNSFilterDestroy(filter);
  }
  for (BNNSFilter filter : stale) expect_refused(filter);
}

TEST(Handle, ManyLiveFilters) {
  constexpr size_t kFilters = 5000;
  std::vector<BNNSFilter> filters;
  for (size_t i = 0; i < kFilters; ++i) filters.push_back(make_relu());
  for (BNNSFilter filter : filters) ASSERT_TRUE(works(filter)) << OpenBNNSGetLastError();
  for (size_t i = 0; i < kFilters; i += 2) BNNSFilterDestroy(filters[i]);
  for (size_t i = 0; i < kFilters; ++i) {
    const int status = BNNSFilterApplyBatch(filters[i], 0, nullptr, 0, nullptr, 0);
    ASSERT_EQ(status, i % 2 == 0 ? -1 : 0);
  }
  for (size_t i = 1; i < kFilters; i += 2) BNNSFilterDestroy(filters[i]);
  expect_refused(filters.front());
  expect_refused(filters.back());
}

TEST(HandleTable, KindsAreKeptApart) {
  static constinit HandleTable table;
  int object = 0;
  void* generator = table.insert(HandleKind::kRandomGenerator, &object);
  EXPECT_EQ(table.find(HandleKind::kRandomGenerator, generator), &object);
  EXPECT_EQ(table.find(HandleKind::kFilter, generator), nullptr);
  EXPECT_EQ(table.remove(HandleKind::kFilter, generator), nullptr);
  EXPECT_EQ(table.remove(HandleKind::kRandomGenerator, generator), &object);
  EXPECT_EQ(table.remove(HandleKind::kRandomGenerator, generator), nullptr);
}

// As the header promises: quarantine times generations.
TEST(HandleTable, NoHandleComesBackEarly) {
  static constinit HandleTable table;
  int object = 0;
  void* first = table.insert(HandleKind::kFilter, &object);
  table.remove(HandleKind::kFilter, first);
  for (size_t i = 0; i < HandleTable::kQuarantine * (HandleTable::kGenerations - 1); ++i) {
    void* handle = table.insert(HandleKind::kFilter, &object);
    ASSERT_NE(handle, first) << "after " << i << " creations";
    table.remove(HandleKind::kFilter, handle);
  }
}

TEST(HandleTable, FullIsAnErrorAndNotTheEnd) {
  static constinit HandleTable table;
  std::vector<int> objects(HandleTable::kSlots);
  std::vector<void*> handles;
  for (int& object : objects) handles.push_back(table.insert(HandleKind::kFilter, &object));
  int further = 0;
  EXPECT_THROW(table.insert(HandleKind::kFilter, &further), bnns::impl::Error);
  for (size_t i = 0; i < handles.size(); i += 1000)
    EXPECT_EQ(table.find(HandleKind::kFilter, handles[i]), &objects[i]);
  EXPECT_EQ(table.remove(HandleKind::kFilter, handles[77]), &objects[77]);
  void* again = table.insert(HandleKind::kFilter, &further);
  EXPECT_EQ(table.find(HandleKind::kFilter, again), &further);
  EXPECT_NE(again, handles[77]);
  EXPECT_EQ(table.find(HandleKind::kFilter, handles[77]), nullptr);
}

}  // namespace
