// Random generators: the stream against its definition, states, threads, memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "support/hooks.h"
#include "math/double_math.h"
#include "ops/random/random.h"
#include "support/random_call.h"
#include "support/sanitizers.h"

namespace bnns::test {
namespace {

// ---- The stream ----

impl::RandomNumber block(uint64_t upper, uint64_t key, uint64_t number) {
  alignas(64) uint64_t high[8], low[8];
  impl::philox_kernel()(upper, key, number, 1, high, low);
  return {.high = high[0], .low = low[0]};
}

// Known answers published with the Random123 library, pairs of words as numbers.
TEST(Random, PhiloxKnownAnswers) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    const auto expect = [](uint64_t upper, uint64_t number, uint64_t key, uint64_t high,
                           uint64_t low) {
      EXPECT_EQ(block(upper, key, number).high, high);
      EXPECT_EQ(block(upper, key, number).low, low);
    };
    constexpr uint64_t kOnes = ~uint64_t{0};
    expect(0, 0, 0, 0xe169c58d6627e8d5, 0x9b00dbd8bc57ac4c);
    expect(kOnes, kOnes, kOnes, 0x41c83b0e408f276d, 0x6d5451fda20bc7c6);
    expect(0x0370734413198a2e, 0x85a308d3243f6a88, 0x299f31d0a4093822, 0x94fdccebd16cfe09,
           0x24126ea15001e420);
  });
}

TEST(Random, FunctionsAreAccurate) {
  for (double u = 0x1p-53; u <= 1; u *= 1.0009765625) {
    EXPECT_NEAR(impl::portable_log(u), std::log(u), 4e-16 * (std::abs(std::log(u)) + 0x1p-52)) << u;
  }
  EXPECT_EQ(impl::portable_log(1), 0);
  for (double x = 0; x > -700; x -= 0.37)
    EXPECT_NEAR(impl::portable_exp(x) / std::exp(x), 1, 1e-15) << x;
  EXPECT_EQ(impl::portable_exp(0), 1);
  EXPECT_EQ(impl::portable_exp(-std::numeric_limits<double>::infinity()), 0);
  for (uint64_t k = 0; k < 4096; ++k) {
    const uint64_t turn = k << 52;
    const double exact = std::cos(6.28318530717958647692 * static_cast<double>(k) / 4096);
    EXPECT_NEAR(impl::portable_cos_turn(turn), exact, 1e-15) << k;
  }
}

// Element k uses block k of Philox: a uniform Float32 is its upper 53 of the first 64 bits.
TEST(Random, UniformFollowsItsDefinition) {
  constexpr uint64_t kSeed = 0x0123456789ABCDEF;
  const Generator g(kSeed);
  Stored stored(1000, BNNSDataTypeFloat32);
  ASSERT_EQ(BNNSRandomFillUniformFloat(g.get(), stored.desc(), 0, 1), 0);
  const std::vector<double> y = stored.values();
  for (size_t k = 0; k < 1000; ++k) {
    const double u = static_cast<double>(block(0, kSeed, k).high >> 11) * 0x1p-53;
    EXPECT_LE(y[k], u);
    EXPECT_GT(double{std::nextafter(static_cast<float>(y[k]), 2.0f)}, u);
  }
}

// Bits of all kinds of fills, for one seed.
std::vector<std::byte> everything(uint64_t seed, size_t threads) {
  BNNSFilterParameters options = {};
  options.n_threads = threads;
  const Generator g(seed, &options);
  constexpr size_t kCount = 30001;
  std::vector<std::byte> all;
  const auto add = [&](const Stored& y) {
    all.insert(all.end(), y.bytes().begin(), y.bytes().end());
  };
  for (const BNNSDataType type : kFloats) {
    Stored uniform(kCount, type), normal(kCount, type), index(kCount, type), p(7, type);
    p.set({0.1, 0, 0.3, 0.2, 0.05, 0.3, 0.05});
    EXPECT_EQ(BNNSRandomFillUniformFloat(g.get(), uniform.desc(), -3, 5), 0);
    EXPECT_EQ(BNNSRandomFillNormalFloat(g.get(), normal.desc(), 1, 2), 0);
    EXPECT_EQ(BNNSRandomFillCategoricalFloat(g.get(), index.desc(), p.desc(), false), 0);
    add(uniform);
    add(normal);
    add(index);
    EXPECT_EQ(BNNSRandomFillCategoricalFloat(g.get(), index.desc(), p.desc(), true), 0);
    add(index);
  }
  for (const BNNSDataType type : kIntegers) {
    Stored y(kCount, type);
    EXPECT_EQ(BNNSRandomFillUniformInt(g.get(), y.desc(), 3, 100), 0);
    add(y);
  }
  return all;
}

TEST(Random, EqualBitsOnAllTargetsAndThreads) {
  const std::vector<std::byte> expected = everything(42, 1);
  for_targets([&](const char* target) {
    for (const size_t threads : {1, 2, 3, 8})
      EXPECT_TRUE(everything(42, threads) == expected) << target << ", " << threads << " threads";
  });
  EXPECT_FALSE(everything(43, 1) == expected);
}

TEST(Random, SeedsAreDrawnWhenNotGiven) {
  const Generator a, b;
  Stored x(8, BNNSDataTypeFloat32), y(8, BNNSDataTypeFloat32);
  ASSERT_EQ(BNNSRandomFillUniformFloat(a.get(), x.desc(), 0, 1), 0);
  ASSERT_EQ(BNNSRandomFillUniformFloat(b.get(), y.desc(), 0, 1), 0);
  EXPECT_NE(x.values(), y.values());
}

// Where a fill ends the next one goes on, whatever the layout: elements come in memory order.
TEST(Random, FillsContinueTheStream) {
  Stored whole(60, BNNSDataTypeFloat32), parts(60, BNNSDataTypeFloat32);
  const Generator a(5), b(5);
  ASSERT_EQ(BNNSRandomFillNormalFloat(a.get(), whole.desc(), 0, 1), 0);
  auto* data = static_cast<float*>(parts.desc()->data);
  BNNSNDArrayDescriptor first = vector_of(7, data);
  BNNSNDArrayDescriptor second = array(BNNSDataLayout3DFirstMajor, {5, 2, 3}, data + 7);
  BNNSNDArrayDescriptor third =
      array(BNNSDataLayoutConvolutionWeightsOIHrWr, {23, 1, 1, 1}, data + 37);
  for (BNNSNDArrayDescriptor* d : {&first, &second, &third})
    ASSERT_EQ(BNNSRandomFillNormalFloat(b.get(), d, 0, 1), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(whole.values(), parts.values());
}

TEST(Random, StridesLeaveGapsAlone) {
  const Generator a(9), b(9);
  Stored dense(12, BNNSDataTypeFloat32);
  ASSERT_EQ(BNNSRandomFillUniformFloat(a.get(), dense.desc(), 0, 1), 0);
  Guarded<float> padded(Space{2 * 3 * 9});
  BNNSNDArrayDescriptor d = array(BNNSDataLayoutImageCHW, {2, 3, 2}, padded.data());
  d.stride[0] = 2;
  d.stride[1] = 5;
  d.stride[2] = 20;
  padded.remember();
  ASSERT_EQ(BNNSRandomFillUniformFloat(b.get(), &d, 0, 1), 0);
  std::set<size_t> places;
  std::vector<double> found;
  for (size_t c = 0; c < 2; ++c)
    for (size_t y = 0; y < 3; ++y)
      for (size_t x = 0; x < 2; ++x) {
        const size_t at = 2 * x + 5 * y + 20 * c;
        places.insert(at);
        found.push_back(double{padded[at]});
      }
  EXPECT_EQ(found, dense.values());
  EXPECT_TRUE(padded.untouched_except([&](size_t i) { return places.contains(i); }));
}

// ---- States ----

TEST(Random, StateResumesExactly) {
  const Generator g(77), other(78);
  const size_t size = BNNSRandomGeneratorStateSize(g.get());
  ASSERT_GT(size, 0u);
  Stored first(1001, BNNSDataTypeFloat32), again(1001, BNNSDataTypeFloat32);
  std::vector<char> state(size + 5, 0x5A);
  for (const size_t before : {0, 1, 255, 256, 4097}) {
    Stored skipped(before + 1, BNNSDataTypeInt8);
    ASSERT_EQ(BNNSRandomFillUniformInt(g.get(), skipped.desc(), 0, 9), 0);
    // An odd address, and more room than is needed.
    ASSERT_EQ(BNNSRandomGeneratorGetState(g.get(), size + 4, state.data() + 1), 0);
    EXPECT_EQ(state[size + 1], 0x5A);
    ASSERT_EQ(BNNSRandomFillNormalFloat(g.get(), first.desc(), 0, 1), 0);
    for (const Generator* resumed : {&g, &other}) {
      ASSERT_EQ(BNNSRandomGeneratorSetState(resumed->get(), size + 4, state.data() + 1), 0);
      ASSERT_EQ(BNNSRandomFillNormalFloat(resumed->get(), again.desc(), 0, 1), 0);
      EXPECT_EQ(first.values(), again.values());
    }
  }
}

// The counter has 64 bits and wraps.
TEST(Random, CounterWraps) {
  const Generator g(3);
  impl::RandomRun run(1);
  run.key = 3;
  run.first = ~uint64_t{0} - 4;
  float across[10], tail[5];
  const auto view = [](float* data, size_t n) {
    impl::View v;
    v.data = data;
    v.rank = 1;
    v.extent[0] = v.count = v.span = n;
    v.stride[0] = 1;
    return v;
  };
  const impl::UniformRange range(BNNSDataTypeFloat32, 0, 1);
  impl::run_uniform(run, range, view(across, 10));
  run.first = 0;
  impl::run_uniform(run, range, view(tail, 5));
  EXPECT_EQ(std::memcmp(across + 5, tail, sizeof tail), 0);
}

// ---- Threads and memory ----

// Eight callers take pieces of one stream; together they have what one caller would have had.
TEST(Random, EightThreadsOnOneGenerator) {
  constexpr size_t kCallers = 8, kPiece = 300;
  constexpr size_t kPieces = ::test::kSanitized ? 20 : 500;
  using Piece = std::vector<double>;
  const auto fill = [](const Generator& g) {
    Stored y(kPiece, BNNSDataTypeInt64);
    EXPECT_EQ(BNNSRandomFillUniformInt(g.get(), y.desc(), 0, int64_t{1} << 50), 0);
    return y.values();
  };
  BNNSFilterParameters options = {};
  options.n_threads = 2;
  const Generator shared(22, &options), serial(22);
  std::vector<std::vector<Piece>> taken(kCallers);
  std::vector<std::thread> callers;
  for (size_t c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      std::vector<char> state(BNNSRandomGeneratorStateSize(shared.get()));
      for (size_t i = 0; i < kPieces; ++i) {
        taken[c].push_back(fill(shared));
        EXPECT_EQ(BNNSRandomGeneratorGetState(shared.get(), state.size(), state.data()), 0);
      }
    });
  }
  for (std::thread& t : callers) t.join();
  std::multiset<Piece> all, expected;
  for (const auto& pieces : taken) all.insert(pieces.begin(), pieces.end());
  for (size_t i = 0; i < kCallers * kPieces; ++i) expected.insert(fill(serial));
  EXPECT_TRUE(all == expected);
}

TEST(Random, MemoryComesFromTheHooks) {
  using ::test::Hooks;
  Hooks& hooks = Hooks::instance();
  BNNSFilterParameters options = {};
  options.alloc_memory = Hooks::alloc;
  options.free_memory = Hooks::release;
  hooks.reset();
  {
    const Generator g(1, &options);
    EXPECT_EQ(hooks.live(), 1u);
    Stored y(10, BNNSDataTypeFloat32), p(4, BNNSDataTypeFloat32);
    p.set({1, 2, 3, 4});
    y.set(std::vector<double>(10, -1));
    const size_t before = hooks.allocations();
    ASSERT_EQ(BNNSRandomFillUniformFloat(g.get(), y.desc(), 0, 1), 0);
    ASSERT_EQ(BNNSRandomFillNormalFloat(g.get(), y.desc(), 0, 1), 0);
    EXPECT_EQ(hooks.allocations(), before);
    // The sums of a categorical fill; without them nothing is written and nothing drawn.
    const std::vector<double> left = y.values();
    std::vector<char> state(BNNSRandomGeneratorStateSize(g.get())), after = state;
    ASSERT_EQ(BNNSRandomGeneratorGetState(g.get(), state.size(), state.data()), 0);
    hooks.fail(before + 1, before + 1);
    EXPECT_NE(BNNSRandomFillCategoricalFloat(g.get(), y.desc(), p.desc(), false), 0);
    EXPECT_EQ(y.values(), left);
    ASSERT_EQ(BNNSRandomGeneratorGetState(g.get(), after.size(), after.data()), 0);
    EXPECT_EQ(state, after);
    EXPECT_EQ(BNNSRandomFillCategoricalFloat(g.get(), y.desc(), p.desc(), false), 0);
    EXPECT_EQ(hooks.live(), 1u);
  }
  hooks.reset();
  hooks.fail(1, 1);
  EXPECT_EQ(BNNSCreateRandomGeneratorWithSeed(BNNSRandomGeneratorMethodAES_CTR, 1, &options),
            nullptr);
  hooks.fail_none();
  EXPECT_EQ(hooks.live(), 0u);
  EXPECT_EQ(hooks.mistakes(), 0u);
}

// Streams of filters that draw: ranges that do not meet, and calls that share none.
TEST(Random, StreamsOfFiltersDoNotMeet) {
  impl::RandomStreams first(true), idle(false), second(true);
  const uint64_t begin = first.next(), next = second.next();
  EXPECT_EQ(begin % (uint64_t{1} << 32), 0u);
  EXPECT_EQ(next, begin + (uint64_t{1} << 32));  // a filter that does not draw takes no range
  std::vector<std::vector<uint64_t>> drawn(4);
  std::vector<std::thread> threads;
  for (auto& list : drawn) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) list.push_back(first.next(3));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& list : drawn) all.insert(list.begin(), list.end());
  EXPECT_EQ(all.size(), 400u);
  EXPECT_EQ(*all.begin(), begin + 1);
  EXPECT_EQ(*all.rbegin(), begin + 1 + 3 * 399);
}

}  // namespace
}  // namespace bnns::test
