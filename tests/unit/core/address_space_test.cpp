// Many threads in a process whose address space is limited, as by "ulimit -v" or a batch system.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "support/child.h"
#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/unary_workload.h"

namespace {

using test::Results;
using test::UnaryWorkload;

constexpr size_t kThreads = 24;
constexpr rlim_t kLimit = rlim_t{200000} * 1024;

// Threads of this process.
size_t count_tasks() {
  size_t count = 0;
  DIR* directory = opendir("/proc/self/task");
  if (directory == nullptr) return 0;
  while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

// Large enough to be worth threads.
UnaryWorkload large() {
  return UnaryWorkload::activation("tanh", BNNSActivationFunctionTanh, test::vector(1000000), 1);
}

enum Problem { kNone, kNoLimit, kNotCreated, kNotApplied, kTooFewThreads, kOtherResults };

int create_and_apply_limited() {
  const rlimit limit = {.rlim_cur = kLimit, .rlim_max = kLimit};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return kNoLimit;
  const UnaryWorkload w = large();
  Results serial = w.make_results(), threaded = w.make_results();
  for (const size_t threads : {kThreads, size_t{1}}) {
    BNNSFilter filter = w.create(threads);
    if (filter == nullptr) return kNotCreated;
    if (w.forward(filter, threads == 1 ? serial : threaded) != 0) return kNotApplied;
    BNNSFilterDestroy(filter);
  }
  if (count_tasks() != kThreads) return kTooFewThreads;
  return serial == threaded ? kNone : kOtherResults;
}

// A call without a filter starts the workers; the first filter is created afterwards.
int create_after_the_workers() {
  const rlimit limit = {.rlim_cur = kLimit, .rlim_max = kLimit};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return kNoLimit;
  std::vector<float> in(1000000, 0.5f), out(in.size());
  BNNSLayerParametersActivation parameters = {};
  parameters.i_desc = parameters.o_desc = test::vector(in.size());
  parameters.activation.function = BNNSActivationFunctionTanh;
  const BNNSFilterParameters options = {.n_threads = kThreads};
  parameters.i_desc.data = in.data();
  parameters.o_desc.data = out.data();
  if (BNNSDirectApplyActivationBatch(&parameters, &options, 1, 0, 0) != 0) return kNotApplied;
  if (count_tasks() != kThreads) return kTooFewThreads;
  BNNSFilter filter = BNNSFilterCreateLayerActivation(&parameters, &options);
  if (filter == nullptr) return kNotCreated;
  if (BNNSFilterApply(filter, in.data(), out.data()) != 0) return kNotApplied;
  BNNSFilterDestroy(filter);
  return kNone;
}

TEST(AddressSpace, TwentyFourThreadsIn200Megabytes) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  EXPECT_EQ(test::in_forked_child(create_and_apply_limited), kNone);
}

TEST(AddressSpace, AFilterIsCreatedAfterTheWorkers) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
  EXPECT_EQ(test::in_forked_child(create_after_the_workers), kNone);
}

}  // namespace
