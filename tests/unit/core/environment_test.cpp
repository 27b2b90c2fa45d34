// What comes from outside a call: OPENBNNS_THREADS, OPENBNNS_TARGET, the functions that override
// them, and the version. Run with --child the program prints what the library has chosen.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "support/child.h"
#include "openbnns/openbnns.h"
#include "support/sanitizers.h"
#include "support/unary_workload.h"

namespace {

using test::Results;
using test::UnaryWorkload;
using test::Workload;

constexpr size_t kMaxThreads = 256;

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

// "threads target tasks": the defaults, and how many threads there are after a large apply.
int print_choices() {
  if (!test::kSanitized) {
    const UnaryWorkload w = large();
    Results r = w.make_results();
    BNNSFilter filter = w.create(0);
    if (filter == nullptr || w.forward(filter, r) != 0) return 1;
    BNNSFilterDestroy(filter);
  }
  std::printf("%zu %s %zu", OpenBNNSGetDefaultThreads(), OpenBNNSGetTarget(), count_tasks());
  return 0;
}

struct Choices {
  size_t threads = 0, tasks = 0;
  std::string target, err;
};

Choices with_environment(std::vector<std::string> environment) {
  environment.push_back("OPENBNNS_LOG=error");
  const test::Output child = test::run_self({"--child"}, environment);
  EXPECT_EQ(child.code, 0) << child.err;
  Choices c = {.threads = 0, .tasks = 0, .target = {}, .err = child.err};
  char target[64] = "";
  EXPECT_EQ(std::sscanf(child.out.c_str(), "%zu %63s %zu", &c.threads, target, &c.tasks), 3)
      << child.out;
  c.target = target;
  return c;
}

std::vector<std::string> supported() {
  std::vector<std::string> names;
  for (const char* const* n = OpenBNNSGetSupportedTargets(); *n != nullptr; ++n)
    names.push_back(*n);
  return names;
}

TEST(Threads, EnvironmentSetsTheDefault) {
  for (size_t n : {size_t{1}, size_t{3}, size_t{7}, kMaxThreads}) {
    const Choices c = with_environment({"OPENBNNS_THREADS=" + std::to_string(n)});
    EXPECT_EQ(c.threads, n);
    EXPECT_EQ(c.err, "");
    if (!test::kSanitized) {  // ThreadSanitizer has a thread of its own
      EXPECT_EQ(c.tasks, n) << "the default is the number of threads that work";
    }
  }
}

TEST(Threads, BadEnvironmentIsIgnoredWithAReason) {
  const size_t usual = with_environment({}).threads;
  EXPECT_GE(usual, 1u);
  for (const char* value : {"0", "-1", "257", "1000000000", "18446744073709551617", "many", "4x",
                            "x4", "2.5", "0x4", " ", "-18446744073709551615"}) {
    const Choices c = with_environment({std::string("OPENBNNS_THREADS=") + value});
    EXPECT_EQ(c.threads, usual) << value;
    EXPECT_NE(c.err.find("OPENBNNS_THREADS is \"" + std::string(value) + "\""), std::string::npos)
        << c.err;
  }
}

TEST(Threads, EmptyEnvironmentIsNone) {
  const Choices c = with_environment({"OPENBNNS_THREADS="});
  EXPECT_EQ(c.threads, with_environment({}).threads);
  EXPECT_EQ(c.err, "");
}

TEST(Threads, DefaultCanBeSetAndRestored) {
  const size_t usual = OpenBNNSGetDefaultThreads();
  for (size_t n : {size_t{1}, size_t{2}, size_t{8}, kMaxThreads}) {
    EXPECT_EQ(OpenBNNSSetDefaultThreads(n), 0) << OpenBNNSGetLastError();
    EXPECT_EQ(OpenBNNSGetDefaultThreads(), n);
  }
  EXPECT_EQ(OpenBNNSSetDefaultThreads(5), 0);
  for (size_t n : {kMaxThreads + 1, size_t{1000000000}, SIZE_MAX}) {
    EXPECT_EQ(OpenBNNSSetDefaultThreads(n), -1);
    EXPECT_EQ(OpenBNNSGetLastError(), "OpenBNNSSetDefaultThreads: n_threads is " +
                                          std::to_string(n) + "; it must be at most 256");
    EXPECT_EQ(OpenBNNSGetDefaultThreads(), 5u) << "a refused value changes nothing";
  }
  EXPECT_EQ(OpenBNNSSetDefaultThreads(0), 0);
  EXPECT_EQ(OpenBNNSGetDefaultThreads(), usual);
}

TEST(Threads, FilterParametersHaveTheSameLimit) {
  const UnaryWorkload w = large();
  BNNSFilter filter = w.create(kMaxThreads);
  EXPECT_NE(filter, nullptr) << OpenBNNSGetLastError();
  BNNSFilterDestroy(filter);
  for (size_t n : {kMaxThreads + 1, SIZE_MAX}) {
    EXPECT_EQ(w.create(n), nullptr);
    EXPECT_NE(std::string(OpenBNNSGetLastError()).find("n_threads is " + std::to_string(n)),
              std::string::npos)
        << OpenBNNSGetLastError();
  }
}

TEST(Target, EnvironmentSetsIt) {
  for (const std::string& name : supported()) {
    const Choices c = with_environment({"OPENBNNS_TARGET=" + name});
    EXPECT_EQ(c.target, name);
    EXPECT_EQ(c.err, "");
  }
}

TEST(Target, UnknownEnvironmentMeansTheBest) {
  for (const char* value : {"mmx", "AVX2", "avx2 ", "avx", "0"}) {
    const Choices c = with_environment({std::string("OPENBNNS_TARGET=") + value});
    EXPECT_EQ(c.target, supported().front());
    EXPECT_NE(c.err.find("OPENBNNS_TARGET is \"" + std::string(value) + "\""), std::string::npos)
        << c.err;
  }
  const Choices c = with_environment({"OPENBNNS_TARGET="});
  EXPECT_EQ(c.target, supported().front());
  EXPECT_EQ(c.err, "");
}

TEST(Target, EachSupportedOneCanBeChosen) {
  ASSERT_FALSE(supported().empty());
  EXPECT_EQ(OpenBNNSSetTarget(nullptr), 0);
  EXPECT_EQ(OpenBNNSGetTarget(), supported().front()) << "the best is the default";
  for (const std::string& name : supported()) {
    EXPECT_EQ(OpenBNNSSetTarget(name.c_str()), 0) << OpenBNNSGetLastError();
    EXPECT_EQ(OpenBNNSGetTarget(), name);
  }
  EXPECT_EQ(OpenBNNSSetTarget(nullptr), 0);
  EXPECT_EQ(OpenBNNSGetTarget(), supported().front());
}

TEST(Target, OthersAreRefused) {
  const std::vector<std::string> names = supported();
  EXPECT_EQ(OpenBNNSSetTarget(names.back().c_str()), 0);
  for (const char* name : {"", "mmx", "AVX2", "avx2 ", "neon", "wasm", "avx3"}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    EXPECT_EQ(OpenBNNSSetTarget(name), -1) << name;
    const std::string reason = OpenBNNSGetLastError();
    EXPECT_EQ(reason.rfind("OpenBNNSSetTarget: name is \"" + std::string(name) + "\"", 0), 0u)
        << reason;
    EXPECT_NE(reason.find(names.front()), std::string::npos) << "the reason lists what there is";
    EXPECT_EQ(OpenBNNSGetTarget(), names.back()) << "a refused name changes nothing";
  }
  EXPECT_EQ(OpenBNNSSetTarget(nullptr), 0);
}

Results run(const Workload& w, BNNSFilter filter) {
  Results r = w.make_results();
  EXPECT_EQ(w.forward(filter, r) | w.backward(filter, r), 0) << OpenBNNSGetLastError();
  return r;
}

// Targets differ in the order of sums or in fused rounding, which shows whose kernels have run.
TEST(Target, FiltersKeepTheirs) {
  const UnaryWorkload w =
      UnaryWorkload::fully_connected("product", 311, 97, 13, BNNSActivationFunctionTanh, false, {});
  const std::vector<std::string> names = supported();
  std::vector<BNNSFilter> filters;
  std::vector<Results> right;
  for (const std::string& name : names) {
    ASSERT_EQ(OpenBNNSSetTarget(name.c_str()), 0);
    filters.push_back(w.create(1));
    right.push_back(run(w, filters.back()));
  }
  size_t differing = 0;
  for (size_t chosen = 0; chosen < names.size(); ++chosen) {
    ASSERT_EQ(OpenBNNSSetTarget(names[chosen].c_str()), 0);
    for (size_t k = 0; k < filters.size(); ++k) {
      EXPECT_TRUE(run(w, filters[k]) == right[k]) << names[k] << " under " << names[chosen];
      differing += !(right[k] == right[chosen]);
    }
  }
  for (BNNSFilter filter : filters) BNNSFilterDestroy(filter);
  EXPECT_EQ(OpenBNNSSetTarget(nullptr), 0);
  if (differing == 0) GTEST_SKIP() << "all targets here give the same bits: nothing was shown";
}

TEST(Version, IsThatOfTheBuild) {
  EXPECT_STREQ(OpenBNNSGetVersion(), OPENBNNS_EXPECTED_VERSION);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return print_choices();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
