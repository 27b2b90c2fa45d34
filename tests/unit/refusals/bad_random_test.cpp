// What random generators must refuse.
#include <cmath>
#include <limits>

#include "support/call_table.h"
#include "support/random_call.h"

namespace bnns::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

// Every call has a generator of its own; whatever is refused must not have drawn from it.
struct RandomCall : CallBase {
  Generator generator{1};
  BNNSRandomGenerator handle = generator.get();
  Guarded<float> memory{Space{8}};
  BNNSNDArrayDescriptor desc = matrix_of(3, 2, memory.data());
  BNNSNDArrayDescriptor* desc_pointer = &desc;

  RandomCall() = default;
  RandomCall(const RandomCall&) = delete;
  ~RandomCall() {
    const Generator untouched(1);
    std::vector<char> state(64), expected(64);
    if (drawn) return;
    EXPECT_EQ(BNNSRandomGeneratorGetState(generator.get(), 64, state.data()), 0);
    EXPECT_EQ(BNNSRandomGeneratorGetState(untouched.get(), 64, expected.data()), 0);
    EXPECT_EQ(state, expected);
  }
  template <class F>
  void for_outputs(const F& f) {
    f(memory);
  }
  bool accepted(int status) {
    drawn = status == 0;
    return drawn;
  }
  bool within(float low, float high) const {
    const float* v = memory.data();
    return memory.untouched_except([](size_t i) { return i < 6; }) &&
           std::all_of(v, v + 6, [=](float x) { return x >= low && x < high; });
  }
  bool drawn = false;
};

struct UniformFloat : RandomCall {
  const char* function = "BNNSRandomFillUniformFloat";
  float a = 2, b = 5;
  bool run() { return accepted(BNNSRandomFillUniformFloat(handle, desc_pointer, a, b)); }
  bool correct() const { return within(2, 5); }
};

struct UniformInt : RandomCall {
  const char* function = "BNNSRandomFillUniformInt";
  int64_t a = 5, b = 6;
  UniformInt() { desc.data_type = BNNSDataTypeInt32; }
  bool run() { return accepted(BNNSRandomFillUniformInt(handle, desc_pointer, a, b)); }
  bool correct() const {
    int32_t v[6];
    std::memcpy(v, memory.data(), sizeof v);
    return memory.untouched_except([](size_t i) { return i < 6; }) && std::count(v, v + 6, 5) == 6;
  }
};

struct NormalFloat : RandomCall {
  const char* function = "BNNSRandomFillNormalFloat";
  float mean = 100, stddev = 1;
  bool run() { return accepted(BNNSRandomFillNormalFloat(handle, desc_pointer, mean, stddev)); }
  bool correct() const { return within(90, 110); }
};

struct Categorical : RandomCall {
  const char* function = "BNNSRandomFillCategoricalFloat";
  Guarded<float> p{0, 1, 1, 0, 1, 2, 0, 0};
  BNNSNDArrayDescriptor probabilities = matrix_of(4, 2, p.data());
  BNNSNDArrayDescriptor* probabilities_pointer = &probabilities;
  bool logarithms = false;
  template <class F>
  void for_outputs(const F& f) {
    f(memory);
    f(p);
  }
  bool run() {
    return accepted(
        BNNSRandomFillCategoricalFloat(handle, desc_pointer, probabilities_pointer, logarithms));
  }
  bool correct() const { return p.untouched() && within(0, 4); }
};

template <class Call>
std::vector<Row<Call>> common_rows() {
  auto rows = descriptor_rows<Call>(
      "desc", 2, [](Call & c) -> auto& { return c.desc; }, true);
  static int foreign;
  append(rows, {
                   {"no generator", {"generator is NULL"}, [](Call& c) { c.handle = nullptr; }},
                   {"foreign generator",
                    {"generator", "no live random generator"},
                    [](Call& c) { c.handle = &foreign; }},
                   {"destroyed generator",
                    {"generator", "no live random generator"},
                    [](Call& c) { c.handle = Generator(3).get(); }},
                   {"desc null", {"desc is NULL"}, [](Call& c) { c.desc_pointer = nullptr; }},
                   {"no data", {"desc.data is NULL"}, [](Call& c) { c.desc.data = nullptr; }},
                   {"Boolean",
                    {"desc.data_type", "Boolean"},
                    [](Call& c) { c.desc.data_type = BNNSDataTypeBoolean; }},
                   {"Int4",
                    {"desc.data_type", "Int4"},
                    [](Call& c) { c.desc.data_type = BNNSDataTypeInt4; }},
                   {"sparse",
                    {"desc.layout", "FullyConnectedSparse", "plain"},
                    [](Call& c) { c.desc.layout = BNNSDataLayoutFullyConnectedSparse; }},
                   {"packed",
                    {"desc.layout", "Pack32", "plain"},
                    [](Call& c) {
                      c.desc = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 1, 1},
                                     c.memory.data(), c.desc.data_type);
                    }},
                   {"misaligned",
                    {"desc.data", "aligned to 4"},
                    [](Call& c) { c.desc.data = reinterpret_cast<char*>(c.memory.data()) + 1; }},
               });
  return rows;
}

// An activation filter is a live handle, but of another kind.
TEST(BadRandom, FilterIsNoGenerator) {
  const Filter filter = make_activation(vector_of(1), vector_of(1),
                                        activation(BNNSActivationFunctionRectifiedLinear));
  ASSERT_TRUE(filter);
  EXPECT_EQ(BNNSRandomGeneratorStateSize(filter.get()), 0u);
  BNNSDestroyRandomGenerator(filter.get());
  const Generator generator(1);
  BNNSFilterDestroy(generator.get());
  float x = 1, y = 0;
  EXPECT_EQ(BNNSFilterApply(filter.get(), &x, &y), 0);
  EXPECT_NE(BNNSFilterApply(generator.get(), &x, &y), 0);
  EXPECT_GT(BNNSRandomGeneratorStateSize(generator.get()), 0u);
}

TEST(BadRandom, Uniform) {
  auto rows = common_rows<UniformFloat>();
  for (const float bad : {kNaN, kInf, -kInf}) {
    rows.push_back({"a", {"a is", "finite"}, [=](auto& c) { c.a = bad; }});
    rows.push_back({"b", {"b is", "finite"}, [=](auto& c) { c.b = bad; }});
  }
  append(rows, {
                   {"integers",
                    {"desc.data_type", "Int32", "floating-point"},
                    [](auto& c) { c.desc.data_type = BNNSDataTypeInt32; }},
                   {"empty", {"a is 5", "b is 5", "below"}, [](auto& c) { c.a = 5; }},
                   {"reversed", {"a is 6", "b is 5", "below"}, [](auto& c) { c.a = 6; }},
                   {"beyond the type",
                    {"a is 70000", "b is 80000", "no Float16"},
                    [](auto& c) {
                      c.desc.data_type = BNNSDataTypeFloat16;
                      c.a = 70000;
                      c.b = 80000;
                    }},
                   {"between two values",
                    {"no BFloat16"},
                    [](auto& c) {
                      c.desc.data_type = BNNSDataTypeBFloat16;
                      c.a = 1.001f;
                      c.b = 1.002f;
                    }},
               });
  expect_refused(rows);
}

TEST(BadRandom, Integers) {
  auto rows = common_rows<UniformInt>();
  append(rows, {
                   {"floats",
                    {"desc.data_type", "Float32", "integer"},
                    [](auto& c) { c.desc.data_type = BNNSDataTypeFloat32; }},
                   {"empty", {"a is 6", "b is 6", "below"}, [](auto& c) { c.a = 6; }},
                   {"reversed",
                    {"a is 5", "b is -9223372036854775808", "below"},
                    [](auto& c) { c.b = INT64_MIN; }},
                   {"beyond the type",
                    {"a is 3000000000", "no Int32"},
                    [](auto& c) {
                      c.a = 3000000000;
                      c.b = INT64_MAX;
                    }},
                   {"below the type",
                    {"a is -5", "b is 0", "no UInt64"},
                    [](auto& c) {
                      c.desc = matrix_of(1, 1, c.memory.data(), BNNSDataTypeUInt64);
                      c.a = -5;
                      c.b = 0;
                    }},
               });
  expect_refused(rows);
}

TEST(BadRandom, Normal) {
  auto rows = common_rows<NormalFloat>();
  for (const float bad : {kNaN, kInf, -kInf}) {
    rows.push_back({"mean", {"mean is", "finite"}, [=](auto& c) { c.mean = bad; }});
    rows.push_back({"stddev", {"stddev is", "finite"}, [=](auto& c) { c.stddev = bad; }});
  }
  append(rows, {
                   {"negative", {"stddev is -1", "negative"}, [](auto& c) { c.stddev = -1; }},
                   {"integers",
                    {"desc.data_type", "Int32", "floating-point"},
                    [](auto& c) { c.desc.data_type = BNNSDataTypeInt32; }},
               });
  expect_refused(rows);
}

TEST(BadRandom, Categorical) {
  using Call = Categorical;
  auto rows = common_rows<Call>();
  append(rows, descriptor_rows<Call>(
                   "probabilities", 2, [](Call & c) -> auto& { return c.probabilities; }, false));
  for (const float bad : {-1.0f, -0x1p-149f, kNaN, kInf, -kInf})
    rows.push_back(
        {"bad value", {"distribution 1", "negative, NaN or Inf"}, [=](Call& c) { c.p[6] = bad; }});
  for (const float bad : {kNaN, kInf})
    rows.push_back({"bad logarithm", {"distribution 0", "NaN or +Inf"}, [=](Call& c) {
                      c.logarithms = true;
                      c.p[3] = bad;
                    }});
  append(rows,
         {
             {"all zero",
              {"distribution 1", "0 to every class"},
              [](Call& c) { c.p[4] = c.p[5] = 0; }},
             {"all minus infinity",
              {"distribution 1", "0 to every class"},
              [](Call& c) {
                c.logarithms = true;
                for (size_t i = 4; i < 8; ++i) c.p[i] = -kInf;
              }},
             {"probabilities null",
              {"probabilities is NULL"},
              [](Call& c) { c.probabilities_pointer = nullptr; }},
             {"no probabilities",
              {"probabilities.data is NULL"},
              [](Call& c) { c.probabilities.data = nullptr; }},
             {"another type",
              {"probabilities.data_type", "Float16", "desc.data_type", "Float32"},
              [](Call& c) { c.probabilities.data_type = BNNSDataTypeFloat16; }},
             {"other rows",
              {"desc", "{3, 2}", "probabilities", "{4, 1}", "all logical sizes but the last"},
              [](Call& c) { c.probabilities.size[1] = 1; }},
             {"other rank",
              {"desc", "probabilities", "Vector {4}"},
              [](Call& c) { c.probabilities = vector_of(4, c.p.data()); }},
             {"rotated",
              {"probabilities.layout", "rotated"},
              [](Call& c) {
                c.desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {1, 1, 1, 1}, c.memory.data());
                c.probabilities =
                    array(BNNSDataLayoutConvolutionWeightsOIHrWr, {1, 1, 1, 4}, c.p.data());
              }},
             {"overlap",
              {"desc.data", "probabilities.data", "overlap"},
              [](Call& c) { c.desc.data = c.p.data() + 7; }},
         });
  expect_refused(rows);
  // 300 classes have indices that BFloat16 does not hold.
  const Generator g(1);
  Stored y(3, BNNSDataTypeBFloat16), p(300, BNNSDataTypeBFloat16);
  p.set(std::vector<double>(300, 1));
  EXPECT_NE(BNNSRandomFillCategoricalFloat(g.get(), y.desc(), p.desc(), false), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSRandomFillCategoricalFloat", {"300 classes", "257"});
}

TEST(BadRandom, Creation) {
  for (const uint32_t bad : {1u, UINT32_MAX, uint32_t{INT32_MAX}}) {
    const auto method = static_cast<BNNSRandomGeneratorMethod>(bad);
    EXPECT_EQ(BNNSCreateRandomGenerator(method, nullptr), nullptr);
    expect_reason(OpenBNNSGetLastError(), "BNNSCreateRandomGenerator",
                  {"method is", std::to_string(bad)});
    EXPECT_EQ(BNNSCreateRandomGeneratorWithSeed(method, 1, nullptr), nullptr);
    expect_reason(OpenBNNSGetLastError(), "BNNSCreateRandomGeneratorWithSeed",
                  {"method is", std::to_string(bad)});
  }
  BNNSFilterParameters options = {};
  options.n_threads = 257;
  EXPECT_EQ(BNNSCreateRandomGenerator(BNNSRandomGeneratorMethodAES_CTR, &options), nullptr);
  expect_reason(OpenBNNSGetLastError(), "BNNSCreateRandomGenerator", {"n_threads", "257"});
}

TEST(BadRandom, States) {
  const Generator g(1);
  const size_t size = BNNSRandomGeneratorStateSize(g.get());
  std::vector<char> state(size), before(size);
  ASSERT_EQ(BNNSRandomGeneratorGetState(g.get(), size, state.data()), 0);
  before = state;
  const auto refused = [&](int status, const char* function, std::vector<std::string> words) {
    EXPECT_NE(status, 0);
    expect_reason(OpenBNNSGetLastError(), function, words);
  };
  const char* const get = "BNNSRandomGeneratorGetState";
  const char* const set = "BNNSRandomGeneratorSetState";
  for (const size_t bad : {size_t{0}, size_t{1}, size - 1}) {
    refused(BNNSRandomGeneratorGetState(g.get(), bad, state.data()), get,
            {"state_size is", std::to_string(bad), std::to_string(size)});
    refused(BNNSRandomGeneratorSetState(g.get(), bad, state.data()), set,
            {"state_size is", std::to_string(bad), std::to_string(size)});
  }
  refused(BNNSRandomGeneratorGetState(g.get(), size, nullptr), get, {"state is NULL"});
  refused(BNNSRandomGeneratorSetState(g.get(), size, nullptr), set, {"state is NULL"});
  EXPECT_EQ(state, before);
  // Any bit that differs makes it no state.
  for (size_t bit = 0; bit < 8 * size; ++bit) {
    std::vector<char> damaged = state;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    refused(BNNSRandomGeneratorSetState(g.get(), size, damaged.data()), set, {"state is none"});
  }
  ASSERT_EQ(BNNSRandomGeneratorGetState(g.get(), size, state.data()), 0);
  EXPECT_EQ(state, before);
  int foreign = 0;
  for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(&foreign)}) {
    EXPECT_EQ(BNNSRandomGeneratorStateSize(bad), 0u);
    expect_reason(OpenBNNSGetLastError(), "BNNSRandomGeneratorStateSize", {"generator is"});
    refused(BNNSRandomGeneratorGetState(bad, size, state.data()), get, {"generator is"});
    refused(BNNSRandomGeneratorSetState(bad, size, state.data()), set, {"generator is"});
  }
  BNNSDestroyRandomGenerator(nullptr);
  BNNSDestroyRandomGenerator(&foreign);
  expect_reason(OpenBNNSGetLastError(), "BNNSDestroyRandomGenerator", {"no live random generator"});
}

}  // namespace
}  // namespace bnns::test
