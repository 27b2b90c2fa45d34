#include "ops/reduction/product.h"

#include "ops/reduction/states.h"

namespace bnns::impl {

ReduceState product_of_row(const float* x, size_t n, float) {
  ReduceState s = {1, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const double four = double{x[i]} * double{x[i + 1]} * (double{x[i + 2]} * double{x[i + 3]});
    s = joined_products(s, {four, 0});
  }
  for (; i < n; ++i) s = joined_products(s, {double{x[i]}, 0});
  return s;
}

void products_of_columns(const float* x, size_t stride, size_t rows, size_t n, float, float* a,
                         float* b) {
  for (size_t i = 0; i < n; ++i) {
    ReduceState s = {1, 0};
    for (size_t r = 0; r < rows; r += 4) {
      double product = 1;
      for (size_t k = r; k < rows && k < r + 4; ++k) product *= double{x[k * stride + i]};
      s = joined_products(s, {product, 0});
    }
    a[i] = static_cast<float>(s.a);
    b[i] = static_cast<float>(s.b);
  }
}

}  // namespace bnns::impl
