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

// One row of a tensor, as contiguous floats where it has them. Rows are made by the million: the
// view of one that has to be converted is made when it is needed.
class Row {
 public:
  Row(const ConvertKernels& kernels, const AxesTensor& tensor, size_t offset, size_t stride)
      : kernels_(kernels),
        data_(shifted(tensor, offset)),
        type_(tensor.type),
        stride_(stride),
        direct_(type_ == BNNSDataTypeFloat32 && stride == 1) {}

  // The values themselves; nullptr if they have to be converted or gathered.
  float* direct(size_t first) const {
    return direct_ ? static_cast<float*>(data_) + first : nullptr;
  }
  const float* read(size_t first, size_t n, float* buffer) const {
    if (direct_) return direct(first);
    read_values(kernels_, view(first, n), 0, n, buffer);
    return buffer;
  }
  void write(size_t first, size_t n, const float* values) const {
    write_values(kernels_, view(first, n), 0, n, values);
  }

 private:
  View view(size_t first, size_t n) const {
    View view;
    view.data = static_cast<char*>(data_) + first * stride_ * type_bytes(type_);
    view.type = type_;
    view.rank = 1;
    view.extent[0] = view.count = n;
    view.stride[0] = stride_;
    return view;
  }

  const ConvertKernels& kernels_;
  void* data_;
  BNNSDataType type_;
  size_t stride_;
  bool direct_;
};

// Elements [first, first + n) of a row of x, and the sums of what shows them.
struct Part {
  ptrdiff_t first, n;
  float* sums;
};

// Adds what image s of the axis in one row of dy shows, without the cells inside. Cells are counted
// from the first one inside; the image has the cells [s length, (s + 1) length). Images with odd
// numbers run backwards.
void add_image(PaddingKind kind, const PaddingAxis& a, ptrdiff_t s, const Row& dy,
               const Part& part) {
  const auto extent = static_cast<ptrdiff_t>(a.extent);
  const auto before = static_cast<ptrdiff_t>(a.before), after = static_cast<ptrdiff_t>(a.after);
  const ptrdiff_t length = kind == PaddingKind::kReflect ? extent - 1 : extent;
  const ptrdiff_t origin = s * length, top = origin + extent - 1;
  const bool backwards = s % 2 != 0;  // element i is cell top - i, not origin + i
  ptrdiff_t begin = s < 0 ? std::max(origin, -before) : std::max(origin, extent);
  ptrdiff_t end = std::min(origin + length, extent + after);
  begin = std::max(begin, backwards ? top - part.first - part.n + 1 : origin + part.first);
  end = std::min(end, backwards ? top - part.first + 1 : origin + part.first + part.n);
  if (begin >= end) return;
  float buffer[kBlock];
  const float* g =
      dy.read(static_cast<size_t>(begin + before), static_cast<size_t>(end - begin), buffer);
  if (backwards) {
    float* to = part.sums + (top - begin - part.first);
    for (ptrdiff_t i = 0; i < end - begin; ++i) to[-i] += g[i];
  } else {
    float* to = part.sums + (begin - origin - part.first);
    for (ptrdiff_t i = 0; i < end - begin; ++i) to[i] += g[i];
  }
}

// Adds, or stores if it comes first, what one row of dy shows: the cells inside, then the images.
void add_row(PaddingKind kind, const PaddingAxis& a, const Row& dy, const Part& part, bool stores) {
  const auto n = static_cast<size_t>(part.n);
  float buffer[kBlock];
  const float* g = dy.read(a.before + static_cast<size_t>(part.first), n, buffer);
  if (stores) {
    std::copy_n(g, n, part.sums);
  } else {
    for (size_t i = 0; i < n; ++i) part.sums[i] += g[i];
  }
  const size_t length = kind == PaddingKind::kReflect ? a.extent - 1 : a.extent;
  const auto images = [&](size_t cells) {  // with that many cells
    return static_cast<ptrdiff_t>(cells <= length ? cells > 0 : div_up(cells, length));
  };
  for (ptrdiff_t s = -images(a.before); s < 0; ++s) add_image(kind, a, s, dy, part);
  const ptrdiff_t behind = a.after == 0 ? 0 : images(a.after + (a.extent - length));
  for (ptrdiff_t s = 1; s <= behind; ++s) add_image(kind, a, s, dy, part);
}

// Counts rows of x, and knows the rows of dy that are copies of each.
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

  void advance() {
    for (size_t k = 1; k < p_.rank; ++k) {
      in_ += p_.axis[k].in;
      if (++index_[k] < p_.axis[k].extent) return;
      in_ -= index_[k] * p_.axis[k].in;
      index_[k] = 0;
    }
  }

  // Calls body(offset of a row of dy), in a fixed order.
  template <class Body>
  void for_all(const Body& body) const {
    for_all(p_.rank, 0, body);
  }

 private:
  template <class Body>
  void for_all(size_t axes, size_t offset, const Body& body) const {
    if (axes <= 1) return body(offset);
    const PaddingAxis& a = p_.axis[axes - 1];
    if (!a.is_padded()) return for_all(axes - 1, offset + index_[axes - 1] * a.out, body);
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
  // Contiguous floats are summed where they lie, other values in a buffer.
  const auto run_row = [&](const CopiedRows& copies, size_t first, size_t last) {
    const Row target(kernels, dx, copies.in(), inner.in);
    for (; first < last; first += kBlock) {
      const size_t n = std::min(kBlock, last - first);
      float buffer[kBlock];
      float* direct = target.direct(first);
      float* sums = direct != nullptr ? direct : buffer;
      if (accumulate) target.read(first, n, buffer);
      bool stores = !accumulate;
      copies.for_all([&](size_t offset) {
        const Row source(kernels, dy, offset, inner.out);
        add_row(p.kind, inner, source,
                {static_cast<ptrdiff_t>(first), static_cast<ptrdiff_t>(n), sums}, stores);
        stores = false;
      });
      if (direct == nullptr) target.write(first, n, sums);
    }
  };
  const double work = kNanoseconds * static_cast<double>(cells);
  parallel_for(useful_threads(threads, work), grains, [&](size_t g, size_t) {
    if (parts > 1) {
      const size_t first = g % parts * kGrain;
      return run_row(CopiedRows(p, g / parts), first, std::min(inner.extent, first + kGrain));
    }
    const size_t last = std::min(rows, (g + 1) * grain);
    CopiedRows copies(p, g * grain);
    for (size_t row = g * grain; row < last; ++row, copies.advance())
      run_row(copies, 0, inner.extent);
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
