// Runs a row kernel over views of equal count that need be neither Float32 nor contiguous. Where a
// stretch of a view is contiguous Float32, the kernel works on the memory itself; elsewhere it
// works on a small buffer in the first-level cache that is filled before and written back after the
// call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/view.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct Operand {
  View view;  // collapsed
  enum Access { kRead, kWrite, kUpdate } access = kRead;
};

constexpr size_t kBlock = 512;

namespace blocks {

// Position in one operand.
struct Cursor {
  Walker walker;
  bool contiguous;

  explicit Cursor(const Operand& operand, size_t first)
      : walker(operand.view, first),
        contiguous(operand.view.is_float() && operand.view.stride[0] == 1) {}
  // Elements from here on that the kernel can use in cursor.
  size_t direct() const { return contiguous ? walker.run() : 0; }
};

inline void skip(Walker& walker, size_t n) {
  while (n > 0) {
    const size_t step = std::min(n, walker.run());
    walker.advance(step);
    n -= step;
  }
}

template <size_t N, size_t... I>
std::array<Cursor, N> cursors(const std::array<Operand, N>& operands, size_t first,
                              std::index_sequence<I...>) {
  return {Cursor(operands[I], first)...};
}

}  // namespace blocks

// Calls body(std::array<float*, N> rows, n) for elements [first, first + count), in order.
template <size_t N, class Body>
void for_blocks(const ConvertKernels& kernels, const std::array<Operand, N>& operands, size_t first,
                size_t count, const Body& body) {
  auto cursors = blocks::cursors(operands, first, std::make_index_sequence<N>());
  alignas(64) float buffers[N][kBlock];
  while (count > 0) {
    size_t shortest = count;
    for (const auto& cursor : cursors) shortest = std::min(shortest, cursor.direct());
    // Stretches shorter than 64 are not worth a kernel call each; several are gathered in a buffer.
    const size_t n = shortest >= std::min<size_t>(count, 64) ? shortest : std::min(count, kBlock);
    std::array<float*, N> rows;
    for (size_t k = 0; k < N; ++k) {
      const View& view = operands[k].view;
      const bool direct = cursors[k].direct() >= n;
      rows[k] = direct ? static_cast<float*>(view.data) + cursors[k].walker.offset() : buffers[k];
      if (!direct && operands[k].access != Operand::kWrite)
        read_values(kernels, view, first, n, buffers[k]);
    }
    body(rows, n);
    for (size_t k = 0; k < N; ++k) {
      if (rows[k] == buffers[k] && operands[k].access != Operand::kRead)
        write_values(kernels, operands[k].view, first, n, buffers[k]);
      blocks::skip(cursors[k].walker, n);
    }
    first += n;
    count -= n;
  }
}

}  // namespace bnns::impl
