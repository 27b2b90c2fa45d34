// `grad`: the reference's backward pass against differences of its forward pass, in double.
//
// The scalar is L = sum of c*y with random c, so dL/dy = c. Four-point formula, error of order h^4:
//   dL/dx = (L(x-2h) - 8 L(x-h) + 8 L(x+h) - L(x+2h)) / 12h
// If h and h/2 disagree, a kink lies between them and the numbers are drawn again. Only forward
// passes decide this, so that it cannot hide a wrong backward pass.
#include <cmath>
#include <cstdio>

#include "runner/case.h"
#include "runner/options.h"

namespace spec {
namespace {

constexpr double kBound = 1e-7;
constexpr int kDraws = 20;

class Gradient {
 public:
  Gradient(const Case& c, const Backward& backward) : case_(c), backward_(backward) {}

  // Returns a description of the failure, or "".
  std::string run(size_t& checked) {
    for (int attempt = 0; attempt < kDraws; ++attempt) {
      draw(attempt);
      bool smooth = true;
      std::string problem = "";
      size_t count = 0;
      for (size_t i : backward_.deltas) {
        if (!check_operand(i, smooth, problem, count)) break;
      }
      if (!smooth) continue;
      checked += count;
      return problem;
    }
    return "no numbers away from kinks found";
  }

 private:
  void draw(int attempt) {
    Random random(case_.name() + backward_.name + std::to_string(attempt));
    values_ = make_values<double>(case_);
    for (size_t i = 0; i < case_.operands.size(); ++i) {
      const Operand& o = case_.operands[i];
      for (double& v : values_.value[i].data()) v = o.role == Role::kOut ? 0 : o.fill.draw(random);
      for (double& v : values_.delta[i].data())
        v = o.role == Role::kOut && o.has_delta ? random.uniform(-2, 2) : 0;
    }
    case_.forward.exact(values_);
    backward_.reference.exact(values_);
  }

  double loss() {
    Values<double> v = values_;
    case_.forward.exact(v);
    double sum = 0;
    for (size_t i = 0; i < v.value.size(); ++i) {
      if (case_.operands[i].role != Role::kOut) continue;
      for (size_t k = 0; k < v.value[i].data().size(); ++k)
        sum += v.value[i].data()[k] * v.delta[i].data()[k];
    }
    return sum;
  }

  double difference(double& x, double h) {
    const double at = x;
    const auto f = [&](double offset) {
      x = at + offset;
      return loss();
    };
    const double d = (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h);
    x = at;
    return d;
  }

  bool check_operand(size_t i, bool& smooth, std::string& problem, size_t& count) {
    const std::vector<double> analytic = values_.delta[i].data();
    double largest = 0;
    for (double g : analytic) largest = std::max(largest, std::abs(g));
    for (size_t k = 0; k < analytic.size(); ++k) {
      double& x = values_.value[i].data()[k];
      const double h = 5e-4 * std::max(1.0, std::abs(x));
      const double numeric = difference(x, h);
      const double scale = std::max({std::abs(numeric), 1e-2 * largest, 1e-3});
      if (std::abs(numeric - difference(x, h / 2)) > 0.3 * kBound * scale) return smooth = false;
      ++count;
      if (std::abs(numeric - analytic[k]) <= kBound * scale || !problem.empty()) continue;
      char text[160];
      std::snprintf(text, sizeof text, "%s_delta[%zu] is %.12g, differences give %.12g",
                    case_.operands[i].name.c_str(), k, analytic[k], numeric);
      problem = text;
    }
    return true;
  }

  const Case& case_;
  const Backward& backward_;
  Values<double> values_;
};

}  // namespace

int run_grad(const Options& options) {
  Report report;
  size_t checked = 0;
  const Suite suite = all_layers();
  for (const Case& c : suite.cases) {
    if (!c.gradient || c.name().find(options.filter) == std::string::npos) continue;
    for (const Backward& b : c.backward) {
      const std::string name = c.name() + "/" + b.name;
      if (b.refused || !b.in_grad || !options.selects(name)) continue;
      const std::string problem = Gradient(c, b).run(checked);
      if (problem.empty())
        report.pass();
      else
        report.fail(name, problem);
    }
  }
  std::printf("%zu gradients checked\n", checked);
  return report.finish();
}

}  // namespace spec
