// A one-thread apply is quiet: no allocation, no lock (but that of a layer that remembers its
// forward call), no system call. Allocations and locks are counted by functions of this program
// that stand before those of the C library; system calls end a child process that has given up the
// right to make them. Each detector is tried out first.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "support/child.h"
#include "support/malloc_counter.h"
#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/small_workloads.h"

namespace {

std::atomic<size_t> lock_calls{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

// Counts the call and passes it on to the function of the C library.
template <class... Arguments>
int count_and_call(std::atomic<void*>& next, const char* name, Arguments... arguments) {
  lock_calls.fetch_add(1, std::memory_order_relaxed);
  if (next.load(std::memory_order_acquire) == nullptr) next = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<int (*)(Arguments...)>(next.load())(arguments...);
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_mutex_lock", m);
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_mutex_trylock", m);
}
int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_cond_wait", c, m);
}
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_cond_timedwait", c, m, t);
}
int pthread_cond_signal(pthread_cond_t* c) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_cond_signal", c);
}
int pthread_cond_broadcast(pthread_cond_t* c) {
  static constinit std::atomic<void*> next{nullptr};
  return count_and_call(next, "pthread_cond_broadcast", c);
}

}  // extern "C"
#endif

namespace {

using test::Results;
using test::UnaryWorkload;
using test::Workload;

// From here on the process may only write and exit; anything else kills it. False if the system
// does not offer this.
bool give_up_system_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog code = {static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) == 0;
}

constexpr int kNoSeccomp = 77;

bool seccomp_works() {
  return test::in_forked_child([] { return give_up_system_calls() ? 0 : kNoSeccomp; }) == 0;
}

class QuietApply : public testing::TestWithParam<size_t> {
 protected:
  QuietApply() : workload_(test::small_workload(GetParam())) {}
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "sanitizers allocate, lock and call the system";
    filter_ = workload_->create(1);
    ASSERT_NE(filter_, nullptr) << OpenBNNSGetLastError();
    ASSERT_EQ(OpenBNNSFilterReserve(filter_, workload_->batch(), 1), 0) << OpenBNNSGetLastError();
    results_ = workload_->make_results();
  }
  void TearDown() override { BNNSFilterDestroy(filter_); }

  int apply() {
    const int status = workload_->forward(filter_, results_);
    return status != 0 || !workload_->trainable() ? status : workload_->backward(filter_, results_);
  }

  const std::unique_ptr<Workload> workload_;
  BNNSFilter filter_ = nullptr;
  Results results_;
};

TEST_P(QuietApply, NoAllocationAndNoLock) {
  const size_t locks = lock_calls;
  const test::MallocCount count;
  int status = 0;
  for (int i = 0; i < 3; ++i) status |= apply();
  EXPECT_EQ(count.total(), 0u);
  if (!workload_->guarded()) {
    EXPECT_EQ(lock_calls, locks);
  }
  EXPECT_EQ(status, 0) << OpenBNNSGetLastError();
}

TEST_P(QuietApply, NoSystemCall) {
  if (!seccomp_works()) GTEST_SKIP() << "no seccomp filters here";
  const int code = test::in_forked_child([&] {
    give_up_system_calls();
    int status = 0;
    for (int i = 0; i < 3; ++i) status |= apply();
    return status == 0 ? 0 : 1;
  });
  EXPECT_NE(code, -SIGSYS) << "a system call was made";
  EXPECT_EQ(code, 0);
}

std::string case_name(const testing::TestParamInfo<size_t>& info) {
  return test::small_workload_identifier(info.param);
}

INSTANTIATE_TEST_SUITE_P(Workloads, QuietApply,
                         testing::Range(size_t{0}, test::small_workloads().size()), case_name);

// The detectors themselves: creation takes the lock of the handle table and allocates.
TEST(QuietDetectors, SeeTheLibrary) {
  if (test::kSanitized) GTEST_SKIP();
  const test::Workloads all = test::small_workloads();
  const size_t locks = lock_calls;
  const test::MallocCount count;
  BNNSFilter filter = all[0]->create(1);
  EXPECT_GE(count.total(), 1u);
  EXPECT_GT(lock_calls, locks);
  BNNSFilterDestroy(filter);
}

TEST(QuietDetectors, ASystemCallEndsTheChild) {
  if (test::kSanitized || !seccomp_works()) GTEST_SKIP();
  const int code = test::in_forked_child([] {
    give_up_system_calls();
    syscall(SYS_getppid);
    return 0;
  });
  EXPECT_EQ(code, -SIGSYS);
}

// Large enough to be split, but there is only one thread to split it among.
TEST(QuietLarge, OneThreadNeverWakesAnother) {
  if (test::kSanitized) GTEST_SKIP();
  const UnaryWorkload w =
      UnaryWorkload::fully_connected("large", 300, 200, 40, BNNSActivationFunctionTanh, false, {});
  BNNSFilter filter = w.create(1);
  ASSERT_EQ(OpenBNNSFilterReserve(filter, w.batch(), 1), 0);
  Results r = w.make_results();
  const size_t locks = lock_calls;
  EXPECT_EQ(w.forward(filter, r) | w.backward(filter, r), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(lock_calls, locks);
  BNNSFilterDestroy(filter);
}

// Calls without a filter: a step, clipping, random numbers, the best of a few. A generator has a
// state to guard and takes its own lock, once a call.
TEST(QuietCalls, StepClipAndFill) {
  if (test::kSanitized) GTEST_SKIP();
  std::vector<float> values(5 * 300, 0.5f);
  std::vector<BNNSNDArrayDescriptor> d;
  for (size_t i = 0; i < 5; ++i) d.push_back(test::vector(300, &values[i * 300]));
  BNNSNDArrayDescriptor* parameters[] = {&d[0]};
  const BNNSNDArrayDescriptor* gradients[] = {&d[1]};
  BNNSNDArrayDescriptor* states[] = {&d[2], &d[3]};
  BNNSOptimizerAdamWithClippingFields adam = {};
  adam.learning_rate = 0.01f;
  adam.beta1 = 0.9f, adam.beta2 = 0.99f, adam.epsilon = 1e-8f;
  adam.time_step = adam.gradient_scale = 1;
  adam.clipping_func = BNNSOptimizerClippingByGlobalNorm;
  adam.clip_gradients_max_norm = 1;
  const BNNSFilterParameters one_thread = {0, 1, nullptr, nullptr};
  BNNSRandomGenerator generator =
      BNNSCreateRandomGeneratorWithSeed(BNNSRandomGeneratorMethodAES_CTR, 1, &one_thread);
  ASSERT_NE(generator, nullptr) << OpenBNNSGetLastError();
  float best_values[5];
  BNNSNDArrayDescriptor best = test::vector(5, best_values);
  const auto all = [&] {
    return BNNSOptimizerStep(BNNSOptimizerFunctionAdamWithClipping, &adam, 1, parameters, gradients,
                             states, &one_thread) |
           BNNSClipByValue(&d[4], &d[0], -1, 1) | BNNSClipByNorm(&d[4], &d[0], 1, 0) |
           BNNSRandomFillNormalFloat(generator, &d[1], 0, 1) |
           BNNSDirectApplyTopK(5, 0, 1, &d[0], 0, &best, 0, nullptr, 0, &one_thread);
  };
  ASSERT_EQ(all(), 0) << OpenBNNSGetLastError();
  const size_t locks = lock_calls;
  const test::MallocCount count;
  EXPECT_EQ(all(), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(count.total(), 0u);
  EXPECT_EQ(lock_calls, locks + 1);
  BNNSDestroyRandomGenerator(generator);
}

}  // namespace
