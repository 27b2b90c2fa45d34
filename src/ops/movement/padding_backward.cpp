// The gradient of padding. With a constant it is a move of the inside. With mirror images a row of
// dx is gathered: for every row of dy that is a copy of it, and every image inside that row.
#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "core/types.h"
#include "ops/convert/blocks.h"
#include "ops/movement/padding.h"
#include "ops/movement/padding_axes.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;  // values
constexpr double kNanoseconds = 0.6;

void* shifted(const AxesTensor& tensor, size_t offset) {
  return static_cast<char*>(tensor.data) + offset * type_bytes(tensor.type);
}

Move inside_of(const PaddingProblem& p) {
  Move move;
  for (size_t k = 0; k < p.rank; ++k)
    move.push({.extent = p.axis[k].extent, .from = p.axis[k].out, .to = p.axis[k].in});
  return move;
}

size_t inside_offset(const PaddingProblem& p) {
  size_t offset = 0;
  for (size_t k = 0; k < p.rank; ++k) offset += p.axis[k].before * p.axis[k].out;
  return offset;
}

// One row of a tensor, as contiguous floats where it has them.
class Row {
 public:
  Row(const ConvertKernels& kernels, const AxesTensor& tensor, size_t offset, size_t stride,
      size_t extent)
      : kernels_(kernels) {
    view_.data = shifted(tensor, offset);
    view_.type = tensor.type;
    view_.rank = 1;
    view_.extent[0] = view_.count = extent;
    view_.stride[0] = stride;
    direct_ = view_.is_float() && stride == 1;
  }

  float* direct(size_t first) const { return static_cast<float*>(view_.data) + first; }
  bool is_direct() const { return direct_; }
  const float* read(size_t first, size_t n, float* buffer) const {
    if (direct_) return direct(first);
    read_values(kernels_, view_, first, n, buffer);
    return buffer;
  }
  void write(size_t first, size_t n, const float* values) const {
    if (direct_) {
      std::copy_n(values, n, direct(first));
    } else {
      write_values(kernels_, view_, first, n, values);
    }
  }

 private:
  const ConvertKernels& kernels_;
  View view_;
  bool direct_;
};

// Adds what the images in one row of dy show of elements [first, first + n) of a row of x.
void add_images(PaddingKind kind, const PaddingAxis& a, const Row& dy, ptrdiff_t first, ptrdiff_t n,
                float* sums) {
  float buffer[kBlock];
  const auto read = [&](ptrdiff_t cell, ptrdiff_t count) {
    return dy.read(static_cast<size_t>(cell), static_cast<size_t>(count), buffer);
  };
  if (!a.is_padded()) {
    const float* g = read(first, n);
    for (ptrdiff_t i = 0; i < n; ++i) sums[i] += g[i];
    return;
  }
  // Cells are counted from the first one inside. Image s has the cells [s length, (s + 1) length);
  // those with odd numbers run backwards, from element `top` - s length down.
  const auto extent = static_cast<ptrdiff_t>(a.extent);
  const auto before = static_cast<ptrdiff_t>(a.before), after = static_cast<ptrdiff_t>(a.after);
  const ptrdiff_t length = kind == PaddingKind::kReflect ? extent - 1 : extent;
  for (ptrdiff_t s = -((before + length - 1) / length); s * length < extent + after; ++s) {
    const ptrdiff_t origin = s * length;
    const ptrdiff_t top = origin + extent - 1;  // element i is cell top - i, or origin + i
    const bool backwards = s % 2 != 0;
    ptrdiff_t begin = std::max(origin, -before), end = std::min(origin + length, extent + after);
    begin = std::max(begin, backwards ? top - first - n + 1 : origin + first);
    end = std::min(end, backwards ? top - first + 1 : origin + first + n);
    if (begin >= end) continue;
    const float* g = read(begin + before, end - begin);
    if (backwards) {
      float* to = sums + (top - begin - first);
      for (ptrdiff_t i = 0; i < end - begin; ++i) to[-i] += g[i];
    } else {
      float* to = sums + (begin - origin - first);
      for (ptrdiff_t i = 0; i < end - begin; ++i) to[i] += g[i];
    }
  }
}

// All rows of dy that are copies of one row of x, in a fixed order.
class CopiedRows {
 public:
  CopiedRows(const PaddingProblem& p, size_t row) : p_(p) {
    for (size_t k = 1; k < p.rank; ++k) {
      index_[k] = row % p.axis[k].extent;
      row /= p.axis[k].extent;
      in_ += index_[k] * p.axis[k].in;
    }
  }
  size_t in() const { return in_; }  // offset of the row of x

  // Calls body(offset of a row of dy).
  template <class Body>
  void for_all(const Body& body) const {
    for_all(p_.rank, 0, body);
  }

 private:
  template <class Body>
  void for_all(size_t axes, size_t offset, const Body& body) const {
    if (axes <= 1) return body(offset);
    const PaddingAxis& a = p_.axis[axes - 1];
    for (Images image(p_.kind, a, index_[axes - 1]); !image.done(); image.next())
      for_all(axes - 1, offset + image.cell() * a.out, body);
  }

  const PaddingProblem& p_;
  size_t index_[kMaxRank + 1] = {};
  size_t in_ = 0;
};

void run_mirrored(const ConvertKernels& kernels, size_t threads, const PaddingProblem& given,
                  const AxesTensor& dx, const AxesTensor& dy, bool accumulate) {
  PaddingProblem sorted = given;
  std::sort(sorted.axis, sorted.axis + sorted.rank,
            [](const PaddingAxis& a, const PaddingAxis& b) { return a.in < b.in; });
  const PaddingProblem p = simplified(sorted);
  const PaddingAxis& inner = p.axis[0];
  size_t rows = 1, cells = inner.out_extent();
  for (size_t k = 1; k < p.rank; ++k) {
    rows *= p.axis[k].extent;
    cells *= p.axis[k].out_extent();
  }
  // A grain is some rows, or a part of a row.
  const size_t parts = div_up(inner.extent, kGrain);
  const size_t grain = std::max<size_t>(1, kGrain / inner.extent);
  const size_t grains = parts > 1 ? rows * parts : div_up(rows, grain);
  const auto run_row = [&](size_t row, size_t first, size_t last) {
    const CopiedRows copies(p, row);
    const Row target(kernels, dx, copies.in(), inner.in, inner.extent);
    for (; first < last; first += kBlock) {
      const size_t n = std::min(kBlock, last - first);
      float sums[kBlock], old[kBlock];
      std::fill_n(sums, n, 0.0f);
      copies.for_all([&](size_t offset) {
        const Row source(kernels, dy, offset, inner.out, inner.out_extent());
        add_images(p.kind, inner, source, static_cast<ptrdiff_t>(first), static_cast<ptrdiff_t>(n),
                   sums);
      });
      if (accumulate) {
        const float* before = target.read(first, n, old);
        for (size_t i = 0; i < n; ++i) sums[i] += before[i];
      }
      target.write(first, n, sums);
    }
  };
  const double work = kNanoseconds * static_cast<double>(cells);
  parallel_for(useful_threads(threads, work), grains, [&](size_t g, size_t) {
    if (parts > 1) {
      const size_t first = g % parts * kGrain;
      return run_row(g / parts, first, std::min(inner.extent, first + kGrain));
    }
    const size_t last = std::min(rows, (g + 1) * grain);
    for (size_t row = g * grain; row < last; ++row) run_row(row, 0, inner.extent);
  });
}

}  // namespace

void run_padding_backward(const MoveKernels& kernels, const ConvertKernels& convert, size_t threads,
                          const PaddingProblem& problem, const AxesTensor& dx, const AxesTensor& dy,
                          bool accumulate) {
  bool mirrors = false;
  for (size_t k = 0; k < problem.rank; ++k) mirrors |= problem.axis[k].is_padded();
  mirrors &= problem.kind != PaddingKind::kConstant;
  if (mirrors) return run_mirrored(convert, threads, problem, dx, dy, accumulate);
  AxesTensor inside = dy;
  inside.data = shifted(dy, inside_offset(problem));
  run_gradient_move(kernels, convert, threads, inside_of(problem), inside, dx, accumulate);
}

}  // namespace bnns::impl
