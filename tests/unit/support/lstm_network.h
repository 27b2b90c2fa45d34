// A network of spec/layers/lstm.h with memory and numbers, computed by the library and by the
// reference in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "layers/lstm.h"
#include "openbnns/openbnns.h"

namespace bnns::test {

using spec::LstmSettings;

struct LstmNetwork {
  LstmSettings settings;
  std::vector<spec::Operand> operands;
  std::vector<std::vector<float>> value, delta;
  std::set<size_t> absent, unwanted;  // operands without data, and without a gradient
  BNNSFilterParameters parameters = {.n_threads = 1};

  explicit LstmNetwork(const LstmSettings& s) : settings(s), operands(spec::lstm_operands(s)) {
    std::mt19937 engine(7);
    for (const spec::Operand& o : operands) {
      std::uniform_real_distribution<float> number(float(o.fill.lo), float(o.fill.hi));
      for (auto* to : {&value, &delta}) {
        to->emplace_back(o.shape.count());
        for (float& v : to->back()) v = number(engine);
      }
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      auto& output = settings.is_output(i) ? value[i] : delta[i];
      output.assign(output.size(), -99);
    }
  }

  static std::vector<spec::Argument> arguments(const std::vector<spec::Operand>& operands,
                                               std::vector<std::vector<float>>& memory,
                                               const std::set<size_t>& without) {
    std::vector<spec::Argument> list;
    for (size_t i = 0; i < operands.size(); ++i) {
      spec::Argument a;
      a.given = true;
      a.desc.layout = operands[i].shape.layout;
      std::copy(operands[i].shape.size.begin(), operands[i].shape.size.end(), a.desc.size);
      a.desc.data_type = BNNSDataTypeFloat32;
      a.desc.data = without.count(i) != 0 ? nullptr : memory[i].data();
      list.push_back(a);
    }
    return list;
  }
  spec::LstmCall call() {
    const auto deltas = arguments(operands, delta, unwanted);
    return spec::LstmCall(settings, arguments(operands, value, absent), &deltas);
  }

  // What the library must compute now; an absent operand counts as zeros.
  spec::Values<double> reference(bool backward) const {
    spec::Values<double> v;
    for (size_t i = 0; i < operands.size(); ++i) {
      v.value.emplace_back(operands[i].shape, 1);
      v.delta.emplace_back(operands[i].shape, 1);
      const bool output = settings.is_output(i);
      for (size_t k = 0; k < value[i].size(); ++k) {
        if (!output && absent.count(i) == 0) v.value[i].data()[k] = double(value[i][k]);
        if (output && unwanted.count(i) == 0) v.delta[i].data()[k] = double(delta[i][k]);
      }
    }
    spec::reference::Lstm<double> lstm(settings, v);
    backward ? lstm.backward() : lstm.forward();
    return v;
  }

  void expect_outputs(const spec::Values<double>& right) const {
    for (size_t i = 0; i < operands.size(); ++i)
      if (settings.is_output(i)) expect_equal(value[i], right.value[i].data(), i, absent);
  }
  void expect_gradients(const spec::Values<double>& right) const {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!settings.is_output(i)) expect_equal(delta[i], right.delta[i].data(), i, unwanted);
  }
  void expect_equal(const std::vector<float>& got, const std::vector<double>& right, size_t i,
                    const std::set<size_t>& without) const {
    for (size_t k = 0; k < got.size(); ++k) {
      const double want = without.count(i) != 0 ? -99 : right[k];
      ASSERT_NEAR(double(got[k]), want, 2e-5 * (1 + std::abs(want))) << operands[i].name << k;
    }
  }
};

}  // namespace bnns::test
