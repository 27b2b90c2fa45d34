// LSTM: input data and right results, which are computed here in double.
#include "workloads/lstm.h"

#include <cmath>

#include "harness/random.h"
#include "workloads/reference.h"

namespace bench {
namespace {

using Numbers = std::vector<double>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Numbers numbers(const Buffer& b) {
  return {b.data(), b.data() + b.size()};
}

// Rows [row, columns] of a matrix times x are added to y; transposed: columns of it.
void add_product(const Numbers& w, size_t rows, size_t columns, const double* x, double* y) {
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += w[r * columns + c] * x[c];
    y[r] += sum;
  }
}
void add_transposed(const Numbers& w, size_t rows, size_t columns, const double* x, double* y) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) y[c] += w[r * columns + c] * x[r];
}
void add_outer(Numbers& w, size_t rows, size_t columns, const double* x, const double* y) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) w[r * columns + c] += x[r] * y[c];
}

struct Right {
  Numbers out, in_delta, iw_delta, hw_delta, bias_delta;
};

// One sample through all steps, and back.
void run_sample(const Lstm& p, const Numbers& iw, const Numbers& hw, size_t n, bool back,
                Right& right) {
  const size_t h = p.hidden, i_size = p.inputs, all = 4 * h;
  Numbers gates(p.steps * all), states((p.steps + 1) * h), cells(states);
  const auto x_of = [&](size_t t) {
    const float* x = p.in.data() + (t * p.batch + n) * i_size;
    return Numbers(x, x + i_size);
  };
  for (size_t t = 0; t < p.steps; ++t) {
    double* a = &gates[t * all];
    for (size_t k = 0; k < all; ++k) a[k] = double(p.bias.data()[k]);
    add_product(iw, all, i_size, x_of(t).data(), a);
    add_product(hw, all, h, &states[t * h], a);
    for (size_t k = 0; k < h; ++k) {
      for (size_t g = 0; g < 4; ++g)
        a[g * h + k] = g == 2 ? std::tanh(a[g * h + k]) : sigmoid(a[g * h + k]);
      const double c = a[h + k] * cells[t * h + k] + a[k] * a[2 * h + k];
      cells[(t + 1) * h + k] = c;
      states[(t + 1) * h + k] = a[3 * h + k] * std::tanh(c);
      right.out[(t * p.batch + n) * h + k] = states[(t + 1) * h + k];
    }
  }
  if (!back) return;
  Numbers dh(h), dc(h), da(all);
  for (size_t t = p.steps; t-- > 0;) {
    const double* a = &gates[t * all];
    for (size_t k = 0; k < h; ++k) {
      const double i = a[k], f = a[h + k], g = a[2 * h + k], o = a[3 * h + k];
      const double s = std::tanh(cells[(t + 1) * h + k]);
      const double d = dh[k] + double(p.out_delta.data()[(t * p.batch + n) * h + k]);
      const double c = dc[k] + d * o * (1 - s * s);
      da[k] = c * g * i * (1 - i);
      da[h + k] = c * cells[t * h + k] * f * (1 - f);
      da[2 * h + k] = c * i * (1 - g * g);
      da[3 * h + k] = d * s * o * (1 - o);
      dc[k] = c * f;
    }
    dh.assign(h, 0);
    add_transposed(hw, all, h, da.data(), dh.data());
    add_transposed(iw, all, i_size, da.data(), &right.in_delta[(t * p.batch + n) * i_size]);
    add_outer(right.iw_delta, all, i_size, da.data(), x_of(t).data());
    add_outer(right.hw_delta, all, h, da.data(), &states[t * h]);
    for (size_t k = 0; k < all; ++k) right.bias_delta[k] += da[k];
  }
}

// Each step may add the error of one approximated activation.
Expected expected(const char* tensor, const Numbers& right, size_t steps) {
  Expected e{.tensor = tensor,
             .size = right.size(),
             .at = all_of(right.size()),
             .value = right,
             .bound = {}};
  for (double v : right) e.bound.push_back(double(steps) * kApproximation * (1 + std::abs(v)));
  return e;
}

}  // namespace

Lstm::Lstm(size_t input_size, size_t hidden_size, size_t step_count, size_t batch_size)
    : inputs(input_size),
      hidden(hidden_size),
      steps(step_count),
      batch(batch_size),
      in(steps * batch * inputs),
      iw(4 * hidden * inputs),
      hw(4 * hidden * hidden),
      bias(4 * hidden),
      out_delta(steps * batch * hidden) {
  Random random(inputs + hidden + steps + batch);
  const float range = 1 / std::sqrt(float(hidden));
  random.fill(in, -1, 1);
  random.fill(iw, -range, range);
  random.fill(hw, -range, range);
  random.fill(bias, -range, range);
  random.fill(out_delta, -1, 1);
}

Row Lstm::row(const std::string& op) const {
  const bool back = op == "fwd+bwd";
  const double x = 4.0 * double(in.size()), y = 4.0 * double(out_delta.size());
  const double w = 4.0 * double(iw.size() + hw.size() + bias.size());
  const double products = 2.0 * double(steps * batch) * double(4 * hidden * (inputs + hidden));
  Row row{.op = op,
          .flops = (back ? 3 : 1) * products,
          .read_bytes = back ? x + y + w : x + w,
          .write_bytes = back ? x + y + w : y,
          .working_set = (back ? 2 : 1) * (x + y + w),
          .expected = {}};
  Right right{.out = Numbers(out_delta.size()),
              .in_delta = Numbers(in.size()),
              .iw_delta = Numbers(iw.size()),
              .hw_delta = Numbers(hw.size()),
              .bias_delta = Numbers(bias.size())};
  const Numbers wide_iw = numbers(iw), wide_hw = numbers(hw);
  for (size_t n = 0; n < batch; ++n) run_sample(*this, wide_iw, wide_hw, n, back, right);
  row.expected.push_back(expected("out", right.out, steps));
  if (!back) return row;
  row.expected.push_back(expected("in_delta", right.in_delta, steps));
  row.expected.push_back(expected("iw_delta", right.iw_delta, steps));
  row.expected.push_back(expected("hw_delta", right.hw_delta, steps));
  row.expected.push_back(expected("bias_delta", right.bias_delta, steps));
  return row;
}

void append_lstm(std::vector<Workload>& list, bool quick) {
  const auto add = [&](size_t inputs, size_t hidden, size_t steps, size_t batch) {
    list.push_back({.family = "lstm",
                    .name = "b" + std::to_string(batch) + " t" + std::to_string(steps) + " " +
                            std::to_string(inputs) + "->" + std::to_string(hidden),
                    .ops = {"fwd", "fwd+bwd"},
                    .make = [=] { return std::make_unique<Lstm>(inputs, hidden, steps, batch); }});
  };
  add(quick ? 32 : 128, quick ? 64 : 256, quick ? 8 : 32, 32);
}

}  // namespace bench
