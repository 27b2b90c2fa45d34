#include "ops/contraction/elements.h"

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "math/half.h"

namespace bnns::impl {
namespace {

// How values of a type are read and written.
struct Float32Values {
  using Stored = float;
  static float load(float v) { return v; }
  static float store(float v) { return v; }
};
struct Float16Values {
  using Stored = uint16_t;
  static float load(uint16_t v) { return half_to_float(v); }
  static uint16_t store(float v) { return float_to_half(v); }
};
struct BFloat16Values {
  using Stored = uint16_t;
  static float load(uint16_t v) { return bfloat_to_float(v); }
  static uint16_t store(float v) { return float_to_bfloat(v); }
};

template <class Body>
void with_values(BNNSDataType type, const Body& body) {
  if (type == BNNSDataTypeFloat16) return body(Float16Values());
  if (type == BNNSDataTypeBFloat16) return body(BFloat16Values());
  body(Float32Values());
}

template <class A, class B>
double sum_at(const ContractionAxes& summed, const ContractionOffsets& base, size_t count,
              const typename A::Stored* a, const typename B::Stored* b) {
  double sum = 0;
  ContractionWalker walker(summed, 0, base);
  for (size_t left = count; left > 0;) {
    const size_t run = walker.run();
    const size_t a_step = summed.empty() ? 0 : summed[0].stride[kLeft];
    const size_t b_step = summed.empty() ? 0 : summed[0].stride[kRight];
    const auto* x = a + walker.at().of[kLeft];
    const auto* y = b + walker.at().of[kRight];
    for (size_t i = 0; i < run; ++i)
      sum += double{A::load(x[i * a_step])} * double{B::load(y[i * b_step])};
    walker.advance(run);
    left -= run;
  }
  return sum;
}

template <class A, class B, class C>
void run_elements(const ElementsJob& job, size_t threads, const ContractionData& data) {
  const auto* a = static_cast<const typename A::Stored*>(data.a);
  const auto* b = static_cast<const typename B::Stored*>(data.b);
  auto* c = static_cast<typename C::Stored*>(data.c);
  const size_t count = job.kept.count(), terms = job.summed.count();
  constexpr size_t kGrainTerms = 8192;
  const size_t grain = std::max<size_t>(1, kGrainTerms / terms);
  const double work = 1.5 * static_cast<double>(count) * static_cast<double>(terms);
  parallel_for(useful_threads(threads, work), div_up(count, grain), [&](size_t g, size_t) {
    const size_t first = g * grain;
    ContractionWalker walker(job.kept, first);
    for (size_t left = std::min(count, first + grain) - first; left > 0;) {
      const size_t run = std::min(left, walker.run());
      ContractionOffsets at = walker.at();
      for (size_t i = 0; i < run; ++i) {
        const double sum =
            terms == 1 ? double{A::load(a[at.of[kLeft]])} * double{B::load(b[at.of[kRight]])}
                       : sum_at<A, B>(job.summed, at, terms, a, b);
        auto& to = c[at.of[kResult]];
        const auto value = static_cast<float>(double{job.alpha} * sum);
        to = C::store(data.accumulate ? C::load(to) + value : value);
        if (!job.kept.empty()) at.move(job.kept[0], 1);
      }
      walker.advance(run);
      left -= run;
    }
  });
}

template <class V>
void gather(const GatherContext& from, size_t first, size_t count, size_t k0, size_t depth,
            float* panel) {
  constexpr size_t kMostLines = 64;
  const ContractionTensor t = from.tensor;
  const auto* data = static_cast<const typename V::Stored*>(from.data);
  size_t line[kMostLines];
  ContractionWalker lines(from.lines, from.first_line + first);
  for (size_t i = 0; i < count; ++i, lines.advance(1)) line[i] = lines.at().of[t];
  ContractionWalker walker(from.depth, k0);
  const size_t step = from.depth.empty() ? 0 : from.depth[0].stride[t];
  while (depth > 0) {
    const size_t run = std::min(depth, walker.run());
    const auto* at = data + walker.at().of[t];
    for (size_t k = 0; k < run; ++k, at += step, panel += from.width) {
      for (size_t i = 0; i < count; ++i) panel[i] = V::load(at[line[i]]);
      for (size_t i = count; i < from.width; ++i) panel[i] = 0;
    }
    walker.advance(run);
    depth -= run;
  }
}

}  // namespace

void contract_elements(const ElementsJob& job, size_t threads, const ContractionData& data) {
  with_values(job.type[kLeft], [&](auto a) {
    with_values(job.type[kRight], [&](auto b) {
      with_values(job.type[kResult], [&](auto c) {
        run_elements<decltype(a), decltype(b), decltype(c)>(job, threads, data);
      });
    });
  });
}

GemmPacker gather_packer(const GatherContext& context) {
  return {
      .pack =
          [](const void* from, size_t first, size_t count, size_t k0, size_t depth, float* panel) {
            const auto& c = *static_cast<const GatherContext*>(from);
            with_values(c.type, [&](auto values) {
              gather<decltype(values)>(c, first, count, k0, depth, panel);
            });
          },
      .context = &context};
}

}  // namespace bnns::impl
