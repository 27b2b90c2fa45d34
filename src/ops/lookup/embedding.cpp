#include "ops/lookup/embedding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

// Sums |x|^p in this many lanes, so that additions need not wait for each other.
constexpr size_t kLanes = 16;

template <class Term>
double sum_terms(const float* x, size_t n, const Term& term) {
  double lanes[kLanes] = {};
  for (size_t i = 0; i < n; ++i) lanes[i % kLanes] += term(std::fabs(double{x[i]}));
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

class Finish {
 public:
  Finish(const LookupProblem& p, const EmbeddingRules& rules, const NormRun& run, void* rows)
      : rules_(rules), run_(run), item_(view_of(p.slice, kLookupRows)) {
    item_.type = p.type;
    rows_ = static_cast<char*>(rows);
    if (rules.padding < p.lookup[0].extent)
      padding_ = static_cast<ptrdiff_t>(rules.padding) * p.lookup[0].stride;
  }

  static void call(const void* self, ptrdiff_t table, ptrdiff_t rows) {
    static_cast<const Finish*>(self)->one(table, rows);
  }

 private:
  void one(ptrdiff_t table, ptrdiff_t rows) const {
    View item = item_;
    item.data = rows_ + rows * static_cast<ptrdiff_t>(type_bytes(item.type));
    if (table == padding_) {
      clear(item);
    } else if (rules_.max_norm != 0) {
      const double norm = norm_of(item);
      if (norm > rules_.max_norm)
        scale_part(run_, rules_.max_norm / norm, item, item, 0, item.count, false);
    }
  }

  static void clear(const View& item) {
    const size_t bytes = type_bytes(item.type);
    Walker walker(item, 0);
    for (size_t left = item.count; left > 0;) {
      const size_t n = walker.run();
      char* to = static_cast<char*>(item.data) + walker.offset() * bytes;
      for (size_t i = 0; i < n; ++i) std::memset(to + i * walker.stride() * bytes, 0, bytes);
      walker.advance(n);
      left -= n;
    }
  }

  template <class Body>
  void for_values(const View& item, const Body& body) const {
    for_blocks(*run_.convert, std::array{Operand{item, Operand::kRead}}, 0, item.count,
               [&](std::array<float*, 1>& rows, size_t n) { body(rows[0], n); });
  }

  double largest(const View& item) const {
    double most = 0;
    for_values(item, [&](const float* x, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const double a = std::fabs(double{x[i]});
        most = a > most || a != a ? a : most;
      }
    });
    return most;
  }

  // Beside p = 1 and 2, values are divided by the largest one, so that no power overflows.
  double norm_of(const View& item) const {
    const double p = rules_.p;
    if (p == 2) return std::sqrt(sum_squares_of_part(run_, item, 0, item.count));
    double sum = 0;
    if (p == 1) {
      for_values(item, [&](const float* x, size_t n) {
        sum += sum_terms(x, n, [](double a) { return a; });
      });
      return sum;
    }
    const double most = largest(item);
    if (std::isinf(p) || !(most > 0) || std::isinf(most)) return most;
    for_values(item, [&](const float* x, size_t n) {
      sum += sum_terms(x, n, [&](double a) { return std::pow(a / most, p); });
    });
    return most * std::pow(sum, 1 / p);
  }

  const EmbeddingRules& rules_;
  const NormRun& run_;
  View item_;  // in the rows, without data
  char* rows_;
  ptrdiff_t padding_ = std::numeric_limits<ptrdiff_t>::min();  // offset of that item; none
};

}  // namespace

void run_embedding(const LookupProblem& problem, const EmbeddingRules& rules, const NormRun& run,
                   const LookupData& data) {
  if (rules.max_norm == 0 && rules.padding >= problem.lookup[0].extent)
    return run_gather(problem, run.threads, data);
  const Finish finish(problem, rules, run, data.rows);
  const LookupFinish each = {.run = Finish::call, .context = &finish};
  run_gather(problem, run.threads, data, &each);
}

}  // namespace bnns::impl
