// LSTM: what the runner of the spec does not vary.
#include <cstring>
#include <limits>

#include "support/hooks.h"
#include "support/lstm_network.h"

namespace bnns::test {
namespace {

using Operand = LstmSettings;

LstmSettings everything() {
  return {.inputs = 3,
          .hidden = 5,
          .batch = 3,
          .layers = 2,
          .steps = 4,
          .both = true,
          .peepholes = 15,
          .lengths = {4, 0, 2}};
}

void run(LstmNetwork& n) {
  spec::LstmCall call = n.call();
  ASSERT_EQ(call.forward(n.parameters, true), 0) << OpenBNNSGetLastError();
  ASSERT_EQ(call.backward(n.parameters, true), 0) << OpenBNNSGetLastError();
}

TEST(Lstm, PublishedCellWithDescriptorsThatOnlyHaveData) {
  float x = 1, y = 0, w[4] = {1, 0.5f, 1, 2}, zero = 0, h = -1, c = -1;
  const auto data = [](float& v) {
    BNNSNDArrayDescriptor d = {};
    d.data = &v;
    d.data_type = BNNSDataTypeFloat32;
    return d;
  };
  BNNSLayerParametersLSTM p = {};
  p.input_size = p.hidden_size = p.batch_size = p.num_layers = p.seq_len = 1;
  p.lstm_flags = BNNSLayerFlagsLSTMDefaultActivations;
  p.input_descriptor.data_desc = data(x);
  p.output_descriptor = {data(y), data(h), data(c)};
  BNNSLayerParametersLSTM delta = p;
  float dy = 1, dx = 0, dw[4] = {};
  delta.input_descriptor = {data(dx), {}, {}};
  delta.output_descriptor = {data(dy), {}, {}};
  BNNSLSTMGateDescriptor* gates[] = {&p.input_gate, &p.forget_gate, &p.candidate_gate,
                                     &p.output_gate};
  BNNSLSTMGateDescriptor* deltas[] = {&delta.input_gate, &delta.forget_gate, &delta.candidate_gate,
                                      &delta.output_gate};
  for (size_t k = 0; k < 4; ++k) {
    gates[k]->iw_desc[0] = data(w[k]);
    gates[k]->hw_desc = data(zero);
    deltas[k]->iw_desc[0] = data(dw[k]);
  }
  ASSERT_EQ(BNNSDirectApplyLSTMBatchTrainingCaching(&p, nullptr, nullptr, 0), 0)
      << OpenBNNSGetLastError();
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double i = sigmoid(1), g = std::tanh(1), o = sigmoid(2), cell = i * g, t = std::tanh(cell);
  EXPECT_NEAR(c, cell, 1e-6);
  EXPECT_NEAR(h, o * t, 1e-6);
  EXPECT_EQ(y, h);
  ASSERT_EQ(BNNSDirectApplyLSTMBatchBackward(&p, &delta, nullptr, nullptr, 0), 0)
      << OpenBNNSGetLastError();
  const double s = o * (1 - t * t);
  const double right[] = {s * g * i * (1 - i), 0, s * i * (1 - g * g), t * o * (1 - o)};
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(dw[k], right[k], 1e-6);
  EXPECT_NEAR(dx, right[0] + right[2] + 2 * right[3], 1e-6);
}

TEST(Lstm, EachPartMayBeAbsent) {
  const LstmNetwork all(everything());
  for (size_t i = 0; i < all.operands.size(); ++i) {
    SCOPED_TRACE(all.operands[i].name);
    LstmNetwork n(everything());
    n.unwanted = {i};
    if (i == Operand::kLastH || i == Operand::kLastC || i == Operand::kFirstH ||
        i == Operand::kFirstC)
      n.absent = {i};
    run(n);
    n.expect_outputs(n.reference(false));
    n.expect_gradients(n.reference(true));
  }
}

TEST(Lstm, GradientsOfNothingAreNoWork) {
  LstmNetwork n(everything());
  for (size_t i = 0; i < n.operands.size(); ++i)
    if (!n.settings.is_output(i)) n.unwanted.insert(i);
  run(n);
  n.expect_gradients(n.reference(true));
}

TEST(Lstm, AccumulatesWhereTheFlagSaysSo) {
  LstmNetwork n(everything()), set(everything());
  run(set);
  spec::LstmCall call = n.call();
  ASSERT_EQ(call.forward(n.parameters, true), 0);
  call.delta.input_descriptor.data_desc.flags = BNNSNDArrayFlagBackpropAccumulate;
  call.delta.forget_gate.hw_desc.flags = BNNSNDArrayFlagBackpropAccumulate;
  ASSERT_EQ(call.backward(n.parameters, true), 0) << OpenBNNSGetLastError();
  const size_t hw = n.settings.operand(1, LstmSettings::kHw);
  for (size_t i = 0; i < n.operands.size(); ++i) {
    for (size_t k = 0; !n.settings.is_output(i) && k < n.delta[i].size(); ++k) {
      const float old = i == LstmSettings::kX || i == hw ? -99.0f : 0.0f;
      ASSERT_NEAR(n.delta[i][k], old + set.delta[i][k], 2e-5) << n.operands[i].name;
    }
  }
}

TEST(Lstm, TheSameBitsForAnyNumberOfThreads) {
  for (const bool lengths : {false, true}) {
    LstmSettings s{.inputs = 37, .hidden = 67, .batch = 41, .layers = 2, .steps = 5, .both = true};
    if (lengths) s.peepholes = 9;
    for (size_t n = 0; lengths && n < s.batch; ++n) s.lengths.push_back(int32_t(n % 6));
    LstmNetwork one(s);
    run(one);
    for (const size_t threads : {2, 3, 8}) {
      LstmNetwork n(s);
      n.parameters.n_threads = threads;
      run(n);
      for (size_t i = 0; i < n.operands.size(); ++i) {
        EXPECT_EQ(std::memcmp(n.value[i].data(), one.value[i].data(), 4 * n.value[i].size()), 0);
        EXPECT_EQ(std::memcmp(n.delta[i].data(), one.delta[i].data(), 4 * n.delta[i].size()), 0);
      }
    }
  }
}

TEST(Lstm, NothingBehindTheEndOfASampleMatters) {
  LstmNetwork n(everything());
  const spec::Values<double> forward = n.reference(false), backward = n.reference(true);
  for (size_t t = 0; t < n.settings.steps; ++t)
    for (size_t b = 0; b < n.settings.batch; ++b)
      for (size_t i = 0; i < 3 && !n.settings.is_active(t, b); ++i)
        n.value[0][(t * 3 + b) * 3 + i] = std::nanf("");
  run(n);
  n.expect_outputs(forward);
  n.expect_gradients(backward);
}

TEST(Lstm, HugeAndSpecialNumbersFlowThrough) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float number : {1e30f, 3.4e38f, infinity, std::nanf("")}) {
    for (size_t i = 0; i < LstmNetwork(everything()).operands.size(); ++i) {
      LstmNetwork n(everything());
      n.value[i][0] = number;
      n.delta[i].back() = -number;
      run(n);
    }
  }
  // A saturated gate gives finite states.
  LstmNetwork n({.inputs = 3, .hidden = 2, .batch = 2, .steps = 3});
  for (float& v : n.value[0]) v = 1e30f;
  run(n);
  for (float v : n.value[LstmSettings::kY]) EXPECT_LE(std::abs(v), 1.0f);
}

TEST(Lstm, AFinalStateMayReplaceTheInitialOne) {
  LstmNetwork n(everything()), apart(everything());
  run(apart);
  spec::LstmCall call = n.call();
  call.p.output_descriptor.hidden_desc = call.p.input_descriptor.hidden_desc;
  call.p.output_descriptor.cell_state_desc = call.p.input_descriptor.cell_state_desc;
  ASSERT_EQ(call.forward(n.parameters, false), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(n.value[LstmSettings::kFirstH], apart.value[LstmSettings::kLastH]);
  EXPECT_EQ(n.value[LstmSettings::kFirstC], apart.value[LstmSettings::kLastC]);
}

// One step of one sample: the gradient of the matrix between the layers shows what was dropped.
TEST(Lstm, DropsBetweenLayersInTraining) {
  LstmSettings s{.inputs = 3, .hidden = 200, .batch = 1, .layers = 2, .steps = 1};
  s.dropout = 0.25f;
  LstmNetwork n(s), again(s);
  run(n);
  run(again);
  EXPECT_NE(n.value[LstmSettings::kY], again.value[LstmSettings::kY]);
  const std::vector<float>& rows = n.delta[s.operand(0, LstmSettings::kIwUpper)];
  size_t dropped = 0;
  n.settings.factors = {std::vector<double>(s.hidden)};
  for (size_t k = 0; k < s.hidden; ++k) {
    n.settings.factors[0][k] = rows[k] == 0 ? 0 : 1 / 0.75;
    dropped += rows[k] == 0;
  }
  EXPECT_GT(dropped, 20u);
  EXPECT_LT(dropped, 90u);
  n.expect_outputs(n.reference(false));
  n.expect_gradients(n.reference(true));
  // Inference drops nothing, and there is no gradient without the cache.
  spec::LstmCall call = n.call();
  ASSERT_EQ(call.forward(n.parameters, false), 0);
  n.settings.factors.clear();
  n.expect_outputs(n.reference(false));
  EXPECT_NE(call.backward(n.parameters, false), 0);
}

TEST(Lstm, SoftmaxIsAFunctionOfAllHiddenUnits) {
  LstmSettings s{.inputs = 2, .hidden = 4, .batch = 1, .steps = 2, .flag = false};
  LstmNetwork n(s);
  const auto call = [&] {
    spec::LstmCall c = n.call();
    c.p.input_gate.activation.function = BNNSActivationFunctionSoftmax;
    c.p.output_gate.activation.function = BNNSActivationFunctionLogSoftmax;
    return c;
  };
  const auto loss = [&] {
    EXPECT_EQ(call().forward(n.parameters, false), 0) << OpenBNNSGetLastError();
    double sum = 0;
    for (size_t i : {LstmSettings::kY, LstmSettings::kLastH, LstmSettings::kLastC})
      for (size_t k = 0; k < n.value[i].size(); ++k)
        sum += double(n.value[i][k]) * double(n.delta[i][k]);
    return sum;
  };
  ASSERT_EQ(call().backward(n.parameters, false), 0) << OpenBNNSGetLastError();
  for (size_t i = 0; i < n.operands.size(); ++i) {
    if (n.settings.is_output(i)) continue;
    float& x = n.value[i][0];
    const float at = x;
    x = at + 0.01f;
    const double above = loss();
    x = at - 0.01f;
    EXPECT_NEAR((above - loss()) / 0.02, n.delta[i][0], 3e-3) << n.operands[i].name;
    x = at;
  }
}

TEST(Lstm, TheContentsOfACacheAreNotTrusted) {
  LstmNetwork n(everything());
  spec::LstmCall call = n.call();
  ASSERT_EQ(call.forward(n.parameters, true), 0);
  const std::vector<char> right = call.cache;
  for (size_t i = 0; i < 128; ++i) {
    if (i >= 72 && i < 80) continue;  // the stream of random numbers may be any
    call.cache[i] = static_cast<char>(call.cache[i] ^ 1);
    EXPECT_NE(call.backward(n.parameters, true), 0) << i;
    call.cache = right;
  }
  for (char& c : call.cache) c = static_cast<char>(&c - call.cache.data() < 128 ? c : 0x7F);
  EXPECT_EQ(call.backward(n.parameters, true), 0);
  // In another place.
  std::vector<char> moved(right.size() + 4);
  std::copy(right.begin(), right.end(), moved.begin() + 4);
  EXPECT_EQ(BNNSDirectApplyLSTMBatchBackward(&call.p, &call.delta, &n.parameters, moved.data() + 4,
                                             right.size()),
            0);
  n.expect_gradients(n.reference(true));
}

BNNSFilterParameters hooks() {
  return {
      .n_threads = 1, .alloc_memory = ::test::Hooks::alloc, .free_memory = ::test::Hooks::release};
}

TEST(Lstm, TheNumberOfAllocationsDoesNotDependOnTheSteps) {
  ::test::Hooks& memory = ::test::Hooks::instance();
  size_t counts[2] = {};
  for (const size_t k : {0, 1}) {
    LstmNetwork n({.hidden = 9, .batch = 2, .layers = 2, .steps = k == 0 ? size_t{2} : 50});
    memory.reset();
    n.parameters = hooks();
    run(n);
    counts[k] = memory.allocations();
    EXPECT_EQ(memory.live() + memory.mistakes(), 0u);
  }
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_LE(counts[0], 2u);
}

TEST(Lstm, MemoryMayRunOut) {
  ::test::Hooks& memory = ::test::Hooks::instance();
  LstmNetwork n(everything());
  spec::LstmCall call = n.call();
  for (const bool cached : {true, false}) {
    bool failed = true;
    for (size_t k = 1; failed; ++k) {
      memory.reset();
      memory.fail(k, k);
      n.parameters = hooks();
      failed = call.forward(n.parameters, cached) != 0 || call.backward(n.parameters, cached) != 0;
      EXPECT_EQ(failed, memory.failures() > 0);
      EXPECT_EQ(memory.live() + memory.mistakes(), 0u);
    }
  }
  n.expect_gradients(n.reference(true));
}

}  // namespace
}  // namespace bnns::test
