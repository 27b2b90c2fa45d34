// Memory of filters: every byte comes from the hooks and goes back to them, nothing is allocated
// after the first call or after a reservation, and any allocation may fail without damage.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "openbnns/openbnns.h"
#include "support/hooks.h"
#include "support/malloc_counter.h"
#include "support/sanitizers.h"
#include "support/small_workloads.h"

namespace {

using test::Hooks;
using test::MallocCount;
using test::Results;
using test::UnaryWorkload;
using test::Workload;

constexpr unsigned char kCanary = 0xA5;

Hooks& hooks() {
  return Hooks::instance();
}

BNNSFilter create(const Workload& w, size_t threads = 1) {
  return w.create(threads, Hooks::alloc, Hooks::release);
}

// What the workload computes without hooks.
Results expected(const Workload& w) {
  Results r = w.make_results();
  BNNSFilter filter = w.create(1);
  EXPECT_NE(filter, nullptr) << OpenBNNSGetLastError();
  EXPECT_EQ(w.forward(filter, r), 0) << OpenBNNSGetLastError();
  if (w.trainable()) {
    EXPECT_EQ(w.backward(filter, r), 0) << OpenBNNSGetLastError();
  }
  BNNSFilterDestroy(filter);
  return r;
}

class EachWorkload : public testing::TestWithParam<size_t> {
 protected:
  EachWorkload() : workload_(test::small_workload(GetParam())) { hooks().reset(); }
  ~EachWorkload() override {
    EXPECT_EQ(hooks().live(), 0u) << "blocks were not freed";
    EXPECT_EQ(hooks().mistakes(), 0u);
  }
  const std::unique_ptr<Workload> workload_;
};

std::string case_name(const testing::TestParamInfo<size_t>& info) {
  return test::small_workload_identifier(info.param);
}

TEST_P(EachWorkload, HooksGetEverythingBack) {
  Results r = workload_->make_results();
  BNNSFilter filter = create(*workload_);
  ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
  EXPECT_GE(hooks().live(), 1u) << "the filter itself";
  ASSERT_EQ(workload_->forward(filter, r), 0) << OpenBNNSGetLastError();
  if (workload_->trainable()) {
    ASSERT_EQ(workload_->backward(filter, r), 0) << OpenBNNSGetLastError();
  }
  EXPECT_TRUE(r == expected(*workload_));
  BNNSFilterDestroy(filter);
  EXPECT_EQ(hooks().live(), 0u);
}

TEST_P(EachWorkload, NothingComesFromElsewhere) {
  if (test::kSanitized) GTEST_SKIP() << "malloc belongs to the sanitizer";
  Results r = workload_->make_results();
  BNNSFilterDestroy(create(*workload_));  // what the process sets up once: targets, handles
  const MallocCount count;
  BNNSFilter filter = create(*workload_);
  const int forward = workload_->forward(filter, r);
  const int backward = workload_->trainable() ? workload_->backward(filter, r) : 0;
  BNNSFilterDestroy(filter);
  EXPECT_EQ(count.total(), 0u);
  EXPECT_EQ(forward, 0);
  EXPECT_EQ(backward, 0);
}

TEST_P(EachWorkload, NoAllocationAfterTheFirstCall) {
  Results r = workload_->make_results();
  BNNSFilter filter = create(*workload_);
  const auto both = [&] {
    return workload_->forward(filter, r) |
           (workload_->trainable() ? workload_->backward(filter, r) : 0);
  };
  ASSERT_EQ(both(), 0) << OpenBNNSGetLastError();
  const size_t before = hooks().calls();
  const MallocCount count;
  int status = 0;
  for (int i = 0; i < 10; ++i) status |= both();
  EXPECT_EQ(count.total(), 0u);
  EXPECT_EQ(hooks().calls(), before);
  EXPECT_EQ(status, 0);
  BNNSFilterDestroy(filter);
}

TEST_P(EachWorkload, ReserveMakesTheFirstCallFree) {
  Results r = workload_->make_results();
  BNNSFilter filter = create(*workload_);
  ASSERT_EQ(OpenBNNSFilterReserve(filter, workload_->batch(), 1), 0) << OpenBNNSGetLastError();
  const size_t before = hooks().calls();
  const MallocCount count;
  int status = workload_->forward(filter, r);
  if (workload_->trainable()) status |= workload_->backward(filter, r);
  EXPECT_EQ(count.total(), 0u);
  EXPECT_EQ(hooks().calls(), before);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(r == expected(*workload_));
  BNNSFilterDestroy(filter);
}

// A call that failed for want of memory: says so, has written nothing, and works when repeated.
template <class Call>
void expect_clean_failure(const Results& before, Results& r, const Call& call) {
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("memory"), std::string::npos)
      << OpenBNNSGetLastError();
  EXPECT_TRUE(r == before) << "a failed call has written";
  hooks().fail_none();
  EXPECT_EQ(call(), 0) << OpenBNNSGetLastError();
}

// Creates, applies, trains, reserves and destroys while allocations first..last fail. Returns
// whether anything failed.
bool run_with_failures(const Workload& w, const Results& right, size_t first, size_t last) {
  hooks().reset();
  hooks().fail(first, last);
  Results r = w.make_results();
  r.fill(kCanary);
  BNNSFilter filter = create(w);
  if (filter == nullptr) {
    EXPECT_NE(std::string(OpenBNNSGetLastError()).find("memory"), std::string::npos)
        << OpenBNNSGetLastError();
    EXPECT_EQ(hooks().live(), 0u) << "a failed creation leaks";
    return true;
  }
  const auto run = [&](const auto& call) {
    const Results before = r;
    const int status = call();
    if (status == 0) return;
    EXPECT_EQ(status, -1);
    expect_clean_failure(before, r, call);
  };
  run([&] { return w.forward(filter, r); });
  if (w.trainable()) run([&] { return w.backward(filter, r); });
  EXPECT_TRUE(r == right);
  run([&] { return OpenBNNSFilterReserve(filter, w.batch(), 4); });
  const bool failed = hooks().failures() > 0;
  BNNSFilterDestroy(filter);
  EXPECT_EQ(hooks().live(), 0u);
  return failed;
}

TEST_P(EachWorkload, AnyOneAllocationMayFail) {
  const Results right = expected(*workload_);
  size_t n = 1;
  while (n < 1000 && run_with_failures(*workload_, right, n, n)) ++n;
  EXPECT_LT(n, 1000u);
  EXPECT_GE(n, 2u) << "no allocation was seen at all";
}

TEST_P(EachWorkload, AllAllocationsFromOneOnMayFail) {
  const Results right = expected(*workload_);
  size_t n = 1;
  while (n < 1000 && run_with_failures(*workload_, right, n, SIZE_MAX)) ++n;
  EXPECT_LT(n, 1000u);
}

TEST_P(EachWorkload, SuccessWithoutABlockIsRefused) {
  hooks().set_mode(Hooks::Mode::kSuccessWithoutBlock);
  EXPECT_EQ(create(*workload_), nullptr);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("alloc_memory returned 0"), std::string::npos)
      << OpenBNNSGetLastError();
}

TEST_P(EachWorkload, MisalignedBlocksAreRefused) {
  hooks().set_mode(Hooks::Mode::kMisaligned);
  EXPECT_EQ(create(*workload_), nullptr);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("alignment"), std::string::npos)
      << OpenBNNSGetLastError();
}

INSTANTIATE_TEST_SUITE_P(Memory, EachWorkload,
                         testing::Range(size_t{0}, test::small_workloads().size()), case_name);

// The counter must see what the library takes without hooks, or the zeros above mean nothing.
TEST(Memory, TheCounterSeesTheLibrary) {
  if (test::kSanitized) GTEST_SKIP() << "malloc belongs to the sanitizer";
  const test::Workloads all = test::small_workloads();
  BNNSFilterDestroy(all[0]->create(1));
  const MallocCount count;
  BNNSFilter filter = all[0]->create(1);
  BNNSFilterDestroy(filter);
  EXPECT_EQ(count.total(), 2u) << "one block, allocated and freed";
}

TEST(Memory, ReserveServesManyCallers) {
  const UnaryWorkload w = UnaryWorkload::fully_connected(
      "halves", 40, 30, 5, BNNSActivationFunctionIdentity, true,
      {.in = BNNSDataTypeFloat16, .weights = BNNSDataTypeFloat16, .out = BNNSDataTypeFloat16});
  hooks().reset();
  BNNSFilter filter = create(w);
  ASSERT_EQ(OpenBNNSFilterReserve(filter, 5, 4), 0) << OpenBNNSGetLastError();
  const size_t four = hooks().allocations();
  ASSERT_EQ(OpenBNNSFilterReserve(filter, 5, 4), 0);
  EXPECT_EQ(hooks().allocations(), four) << "nothing is missing the second time";
  EXPECT_EQ(OpenBNNSFilterReserve(filter, 5, 0), -1);
  EXPECT_EQ(OpenBNNSFilterReserve(filter, 5, 33), -1);
  BNNSFilterDestroy(filter);
  EXPECT_EQ(hooks().live(), 0u);
}

TEST(Memory, DirectCallsUseTheHooksToo) {
  std::vector<float> in(12, -1.0f), out(12);
  BNNSLayerParametersActivation p = {};
  p.i_desc = test::array(BNNSDataLayoutImageCHW, {2, 2, 3}, in.data());
  p.o_desc = test::array(BNNSDataLayoutImageCHW, {2, 2, 3}, out.data());
  p.activation.function = BNNSActivationFunctionPReLUPerChannel;
  p.activation.alpha = 0.5f;
  const BNNSFilterParameters f = {0, 1, Hooks::alloc, Hooks::release};
  hooks().reset();
  ASSERT_EQ(BNNSDirectApplyActivationBatch(&p, &f, 1, 0, 0), 0) << OpenBNNSGetLastError();
  EXPECT_GE(hooks().allocations(), 1u);
  EXPECT_EQ(out, std::vector<float>(12, -0.5f));
  hooks().reset();
  hooks().fail(1, 1);
  out.assign(12, 7.0f);
  EXPECT_EQ(BNNSDirectApplyActivationBatch(&p, &f, 1, 0, 0), -1);
  EXPECT_EQ(out, std::vector<float>(12, 7.0f));
  EXPECT_EQ(hooks().live(), 0u);
}

size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// One lost block per cycle would be at least 32 bytes with glibc, 3.2 MB in all. The kernel counts
// pages in batches of up to 64 per thread (256 KB); the slack of 1 MB lies between the two.
TEST(Memory, ManyCyclesDoNotGrow) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers keep freed memory back";
  constexpr int kCycles = 100000;
  constexpr size_t kSlack = size_t{1} << 20;
  const UnaryWorkload relu =
      UnaryWorkload::activation("relu", BNNSActivationFunctionRectifiedLinear, test::vector(16), 1);
  const UnaryWorkload halves = UnaryWorkload::fully_connected(
      "halves", 8, 8, 1, BNNSActivationFunctionTanh, true, {.weights = BNNSDataTypeFloat16});
  Results a = relu.make_results(), b = halves.make_results();
  int status = 0;
  const auto cycle = [&](const Workload& w, Results& r) {
    BNNSFilter filter = w.create(1);
    status |= filter == nullptr || w.forward(filter, r) != 0;
    BNNSFilterDestroy(filter);
  };
  for (int i = 0; i < kCycles / 10; ++i) cycle(relu, a), cycle(halves, b);
  const size_t before = resident_bytes();
  ASSERT_GT(before, 0u);
  for (int i = 0; i < kCycles; ++i) cycle(relu, a), cycle(halves, b);
  const size_t after = resident_bytes();
  EXPECT_EQ(status, 0);
  EXPECT_LE(after, before + kSlack);
}

}  // namespace
