// fork() while other threads create filters, fail and choose targets: a child has none of these
// threads and still can do all of it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/child.h"
#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/small_workloads.h"

namespace {

constexpr auto kLimit = std::chrono::seconds(20);
constexpr int kForks = 200;

bool create_and_apply(const test::Workload& w) {
  BNNSFilter filter = w.create(1);
  test::Results r = w.make_results();
  const bool applied = filter != nullptr && w.forward(filter, r) == 0;
  BNNSFilterDestroy(filter);
  return applied;
}

void ignore(OpenBNNSLogLevel, const char*, void*) {}

bool fail_with_a_listener() {
  OpenBNNSSetLogCallback(ignore, nullptr);
  const bool refused = BNNSFilterApply(nullptr, nullptr, nullptr) != 0;
  OpenBNNSSetLogCallback(nullptr, nullptr);
  return refused;
}

bool choose_target() {
  return OpenBNNSSetTarget(OpenBNNSGetTarget()) == 0;
}

TEST(Fork, WhileOtherThreadsAreInside) {
  if (test::kSanitized) GTEST_SKIP() << "its allocator may be locked in a forked child";
  const std::unique_ptr<test::Workload> first = test::small_workload(0);
  const test::Workload& workload = *first;
  ASSERT_TRUE(create_and_apply(workload));
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  const auto repeat = [&](auto call) {
    others.emplace_back([&stop, call] {
      while (!stop) call();
    });
  };
  repeat([&] { create_and_apply(workload); });
  repeat([] { fail_with_a_listener(); });
  repeat([] { choose_target(); });
  int failed = 0;
  for (int i = 0; i < kForks && failed == 0; ++i) {
    failed = test::in_forked_child(
        [&] {
          const bool good = create_and_apply(workload) && fail_with_a_listener() && choose_target();
          return good ? 0 : 1;
        },
        kLimit);
  }
  stop = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(failed, 0) << "the code of a child";
}

}  // namespace
