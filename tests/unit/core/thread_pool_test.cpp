// The thread pool: how many threads a job gets, that every grain runs once, what happens to nested
// and concurrent jobs, without workers, and after fork().
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/parallel.h"
#include "support/child.h"
#include "support/sanitizers.h"

namespace {

std::atomic<bool> refuse_threads{false};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  if (refuse_threads.load()) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, start, argument);
}
#endif

namespace bnns::impl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit(60);

// Who came by, and a place where grains wait for each other.
class Meeting {
 public:
  explicit Meeting(size_t expected) : expected_(expected) {}

  // False if not all have arrived in time.
  bool arrive(size_t worker) {
    {
      const std::lock_guard lock(mutex_);
      threads_.insert(std::this_thread::get_id());
      workers_.insert(worker);
      pairs_.insert({std::this_thread::get_id(), worker});
    }
    const auto end = Clock::now() + kLimit;
    while (distinct() < expected_) {
      if (Clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  size_t distinct() {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }
  size_t workers() const { return workers_.size(); }
  size_t highest_worker() const { return *workers_.rbegin(); }
  // One number per thread, one thread per number.
  bool one_to_one() const {
    return pairs_.size() == threads_.size() && pairs_.size() == workers_.size();
  }

 private:
  size_t expected_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
  std::set<size_t> workers_;
  std::set<std::pair<std::thread::id, size_t>> pairs_;
};

class ExactThreads : public testing::TestWithParam<size_t> {};

TEST_P(ExactThreads, EachOfThemTakesAGrain) {
  const size_t n = GetParam();
  for (int round = 0; round < 20; ++round) {
    Meeting meeting(n);
    std::atomic<bool> in_time{true};
    parallel_for(n, n, [&](size_t, size_t worker) {
      if (!meeting.arrive(worker)) in_time = false;
    });
    ASSERT_TRUE(in_time) << "only " << meeting.distinct() << " of " << n << " threads came";
    EXPECT_EQ(meeting.distinct(), n);
    EXPECT_EQ(meeting.workers(), n);
    EXPECT_EQ(meeting.highest_worker(), n - 1);
    EXPECT_TRUE(meeting.one_to_one());
  }
}

TEST_P(ExactThreads, NeverMoreWithManyGrains) {
  const size_t n = GetParam();
  ThreadPool::instance().start(16);  // more than any job here may use
  for (int round = 0; round < 5; ++round) {
    Meeting meeting(n);
    std::atomic<bool> in_time{true};
    parallel_for(n, 40 * n, [&](size_t, size_t worker) {
      if (!meeting.arrive(worker)) in_time = false;
      std::this_thread::yield();
    });
    ASSERT_TRUE(in_time);
    EXPECT_EQ(meeting.distinct(), n);
    EXPECT_TRUE(meeting.one_to_one());
    EXPECT_LT(meeting.highest_worker(), n);
  }
}

TEST_P(ExactThreads, EveryGrainRunsOnce) {
  const size_t n = GetParam();
  for (size_t grains : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 1000, 12345}) {
    std::vector<std::atomic<int>> runs(grains);
    parallel_for(n, grains, [&](size_t grain, size_t worker) {
      ASSERT_LT(worker, n);
      runs.at(grain).fetch_add(1, std::memory_order_relaxed);
    });
    const bool once = std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; });
    EXPECT_TRUE(once) << grains << " grains, " << n << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ExactThreads, testing::Values(8, 1, 2, 3, 8, 2));

// The results of a job are visible to the caller without any further synchronisation.
TEST(ThreadPool, ManyShortJobsFinish) {
  const int jobs = test::kSanitized ? 200 : 1000;
  for (int job = 0; job < jobs; ++job) {
    size_t values[32] = {};
    parallel_for(8, std::size(values), [&](size_t grain, size_t) { values[grain] = grain + 1; });
    for (size_t i = 0; i < std::size(values); ++i) ASSERT_EQ(values[i], i + 1) << "job " << job;
  }
}

TEST(ThreadPool, JobsAfterSleepFinish) {
  for (int job = 0; job < 20; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the workers are asleep by now
    Meeting meeting(3);
    std::atomic<bool> in_time{true};
    parallel_for(3, 3, [&](size_t, size_t worker) {
      if (!meeting.arrive(worker)) in_time = false;
    });
    ASSERT_TRUE(in_time);
  }
}

TEST(ThreadPool, NestedJobsRunOnTheirThread) {
  std::atomic<int> wrong{0}, inner_grains{0};
  parallel_for(4, 16, [&](size_t, size_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(4, 10, [&](size_t, size_t worker) {
      if (std::this_thread::get_id() != self || worker != 0) ++wrong;
      ++inner_grains;
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner_grains, 160);
  // The outer level is parallel again afterwards.
  Meeting meeting(4);
  std::atomic<bool> in_time{true};
  parallel_for(4, 4, [&](size_t, size_t worker) {
    if (!meeting.arrive(worker)) in_time = false;
  });
  EXPECT_TRUE(in_time);
}

TEST(ThreadPool, SecondCallerRunsSerially) {
  std::atomic<bool> release{false}, in_time{true};
  Meeting meeting(2);
  std::thread first([&] {
    parallel_for(2, 2, [&](size_t, size_t worker) {
      if (!meeting.arrive(worker)) in_time = false;
      while (!release) std::this_thread::yield();
    });
  });
  while (meeting.distinct() < 2 && in_time) std::this_thread::yield();
  size_t serial = 0;  // not atomic: one thread only
  const auto self = std::this_thread::get_id();
  parallel_for(4, 100, [&](size_t grain, size_t worker) {
    serial += std::this_thread::get_id() == self && worker == 0 && grain == serial;
  });
  EXPECT_EQ(serial, 100u);
  release = true;
  first.join();
  EXPECT_TRUE(in_time);
}

TEST(ThreadPool, ConcurrentCallersAllFinish) {
  std::vector<std::thread> callers;
  std::atomic<size_t> sum{0};
  const int jobs = test::kSanitized ? 50 : 500;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int job = 0; job < jobs; ++job)
        parallel_for(3, 10, [&](size_t grain, size_t) { sum += grain; });
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, size_t{6} * static_cast<size_t>(jobs) * 45);
}

int run_jobs_in_child() {
  for (int job = 0; job < 50; ++job) {
    std::atomic<size_t> sum{0};
    parallel_for(4, 100, [&](size_t grain, size_t) { sum += grain; });
    if (sum != 4950) return 1;
  }
  Meeting meeting(4);
  std::atomic<bool> in_time{true};
  parallel_for(4, 4, [&](size_t, size_t worker) {
    if (!meeting.arrive(worker)) in_time = false;
  });
  return in_time && meeting.distinct() == 4 ? 0 : 2;
}

TEST(ThreadPool, ForkedChildHasItsOwnWorkers) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "it has no threads in forked children";
  parallel_for(4, 100, [](size_t, size_t) {});  // the parent's workers exist
  for (int round = 0; round < 5; ++round)
    ASSERT_EQ(test::in_forked_child(run_jobs_in_child, kLimit), 0);
  EXPECT_EQ(run_jobs_in_child(), 0) << "the parent's own workers after fork()";
}

TEST(ThreadPool, ForkDuringAJobOfAnotherThread) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "it has no threads in forked children";
  std::atomic<bool> release{false}, in_time{true};
  Meeting meeting(2);
  std::thread other([&] {
    parallel_for(2, 2, [&](size_t, size_t worker) {
      if (!meeting.arrive(worker)) in_time = false;
      while (!release) std::this_thread::yield();
    });
  });
  while (meeting.distinct() < 2 && in_time) std::this_thread::yield();
  EXPECT_EQ(test::in_forked_child(run_jobs_in_child, kLimit), 0);
  release = true;
  other.join();
}

TEST(ThreadPool, WithoutWorkersTheCallerDoesItAll) {
  if (test::kSanitized) GTEST_SKIP() << "pthread_create belongs to the sanitizer";
  const int code = test::in_forked_child([] {
    refuse_threads = true;
    bool probe = false;
    try {
      std::thread([] {}).detach();
    } catch (const std::system_error&) {
      probe = true;  // the refusal works, so that the rest means something
    }
    size_t mine = 0;
    const auto self = std::this_thread::get_id();
    parallel_for(8, 1000, [&](size_t, size_t) { mine += std::this_thread::get_id() == self; });
    if (!probe || mine != 1000) return 1;
    refuse_threads = false;
    return run_jobs_in_child();  // later jobs get their threads
  });
  EXPECT_EQ(code, 0);
}

TEST(UsefulThreads, OneBelowTheThreshold) {
  for (size_t threads : {1, 2, 8, 256}) {
    EXPECT_EQ(useful_threads(threads, 0), 1u);
    EXPECT_EQ(useful_threads(threads, kSerialNanoseconds - 1), 1u);
    EXPECT_EQ(useful_threads(threads, kSerialNanoseconds), threads);
    EXPECT_EQ(useful_threads(threads, 1e12), threads);
  }
}

}  // namespace
}  // namespace bnns::impl
