// Pooling: the window of output (X, Y) of a channel has the cells
//   (x, y) = (X stride + kx dilation - left, Y stride + ky dilation - up)   inside the image, and
//   z = bias + { max | sum / all taps | sum / cells | sqrt(sum of squares) },   y = act(z).
// UnMax is given an index for each value: z = bias + value at the index, bias elsewhere.
//   g = dy act'(y)      db = sum of g over batch and pixels of a channel
//   dx = sum over the windows of a cell of  g if it is the first maximum | g / taps | g / cells |
//   g x / norm;   UnMax: dx = g at the index
// A window without a cell gives 0 and has no gradient.
#ifndef OPENBNNS_SPEC_POOLING_REFERENCE_H
#define OPENBNNS_SPEC_POOLING_REFERENCE_H

#include <array>
#include <memory>

#include "layers/activation.h"
#include "layers/activation_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

struct PoolingSize {
  size_t width, height, channels, batch;
  std::array<size_t, 2> kernel, stride = {1, 1}, dilation = {1, 1};
  std::array<size_t, 4> pad = {};  // left, right, up, down
  size_t overhang = 0;             // windows beyond those that fit

  std::array<size_t, 2> windows() const {
    std::array<size_t, 2> n;
    for (size_t a = 0; a < 2; ++a) {
      const size_t padded = (a == 0 ? width : height) + pad[2 * a] + pad[2 * a + 1];
      const size_t extent = (kernel[a] - 1) * dilation[a] + 1;
      const size_t fitting = padded < extent ? 0 : (padded - extent) / stride[a] + 1;
      n[a] = std::min(std::max<size_t>(fitting + overhang, 1), (padded - 1) / stride[a] + 1);
    }
    return n;
  }
  Shape cells_shape() const { return image(width, height, channels); }
  Shape windows_shape() const { return image(windows()[0], windows()[1], channels); }
};

struct PoolingRow {
  BNNSPoolingFunction function;
  const char* name;
};

inline constexpr PoolingRow kPoolingRows[] = {
    {BNNSPoolingFunctionMax, "max"},
    {BNNSPoolingFunctionAverageCountIncludePadding, "average_include"},
    {BNNSPoolingFunctionAverageCountExcludePadding, "average_exclude"},
    {BNNSPoolingFunctionUnMax, "un_max"},
    {BNNSPoolingFunctionL2Norm, "l2_norm"},
};

}  // namespace spec

namespace spec::reference {

enum : size_t { kPoolIn, kPoolOut, kPoolBias };

struct Pooling {
  BNNSPoolingFunction function;
  PoolingSize size;
  BNNSActivation activation = {};

  struct Cell {
    size_t x, y;
  };
  // The cells of a window inside the image, in the order of a scan.
  std::vector<Cell> cells(size_t X, size_t Y) const {
    std::vector<Cell> list;
    for (size_t ky = 0; ky < size.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < size.kernel[0]; ++kx) {
        // Before the image these wrap around to very large numbers.
        const size_t x = X * size.stride[0] + kx * size.dilation[0] - size.pad[0];
        const size_t y = Y * size.stride[1] + ky * size.dilation[1] - size.pad[2];
        if (x < size.width && y < size.height) list.push_back({x, y});
      }
    }
    return list;
  }
  double divisor(const std::vector<Cell>& window) const {
    if (function == BNNSPoolingFunctionAverageCountExcludePadding)
      return static_cast<double>(window.size());
    return static_cast<double>(size.kernel[0] * size.kernel[1]);
  }

  template <class T>
  static size_t winner(const Array<T>& x, size_t b, size_t c, const std::vector<Cell>& window) {
    size_t best = 0;
    for (size_t i = 1; i < window.size(); ++i)
      if (x.at(b, {window[i].x, window[i].y, c}) > x.at(b, {window[best].x, window[best].y, c}))
        best = i;
    return best;
  }
  template <class T>
  static T norm(const Array<T>& x, size_t b, size_t c, const std::vector<Cell>& window) {
    using std::sqrt;
    Sum<T> sum;
    for (const Cell& p : window) sum.add(x.at(b, {p.x, p.y, c}), x.at(b, {p.x, p.y, c}));
    return sqrt(sum.get());
  }

  template <class T>
  T pooled(const Array<T>& x, size_t b, size_t c, size_t X, size_t Y) const {
    const std::vector<Cell> window = cells(X, Y);
    if (window.empty()) return T(0);
    if (function == BNNSPoolingFunctionL2Norm) return norm(x, b, c, window);
    if (function == BNNSPoolingFunctionMax) {
      const Cell& p = window[winner(x, b, c, window)];
      return x.at(b, {p.x, p.y, c});
    }
    Sum<T> sum;
    for (const Cell& p : window) sum.add(x.at(b, {p.x, p.y, c}));
    return sum.get() / T(divisor(window));
  }

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>& x = v.value[kPoolIn];
    Array<T>& y = v.value[kPoolOut];
    const Index out = y.shape().size;
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t c = 0; c < out[2]; ++c) {
        const T bias = v.value.size() > kPoolBias ? v.value[kPoolBias](0, c) : T(0);
        for (size_t Y = 0; Y < out[1]; ++Y)
          for (size_t X = 0; X < out[0]; ++X) y.at(b, {X, Y, c}) = pooled(x, b, c, X, Y) + bias;
      }
      activate(y, b);
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    const Array<T> g = gradient(v);
    const Array<T>& x = v.value[kPoolIn];
    const Index in = x.shape().size, out = g.shape().size;
    bias_gradient(v, g);
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t c = 0; c < in[2]; ++c) {
        std::vector<Sum<T>> sums(in[0] * in[1]);
        for (size_t Y = 0; Y < out[1]; ++Y) {
          for (size_t X = 0; X < out[0]; ++X) {
            const std::vector<Cell> window = cells(X, Y);
            spread(x, b, c, window, g.at(b, {X, Y, c}),
                   [&](const Cell& p, T share) { sums[p.x + p.y * in[0]].add(share); });
          }
        }
        for (size_t j = 0; j < in[1]; ++j)
          for (size_t i = 0; i < in[0]; ++i)
            v.delta[kPoolIn].at(b, {i, j, c}) = sums[i + j * in[0]].get();
      }
    }
  }

  template <class T, class Add>
  void spread(const Array<T>& x, size_t b, size_t c, const std::vector<Cell>& window, T g,
              Add add) const {
    if (window.empty()) return;
    if (function == BNNSPoolingFunctionMax) return add(window[winner(x, b, c, window)], g);
    if (function == BNNSPoolingFunctionL2Norm) {
      const T p = norm(x, b, c, window);
      for (const Cell& q : window)
        if (!(p == T(0))) add(q, g * x.at(b, {q.x, q.y, c}) / p);
      return;
    }
    for (const Cell& q : window) add(q, g / T(divisor(window)));
  }

  template <class T>
  void bias_gradient(Values<T>& v, const Array<T>& g) const {
    if (v.delta.size() <= kPoolBias) return;
    const Index out = g.shape().size;
    for (size_t c = 0; c < out[2]; ++c) {
      Sum<T> sum;
      for (size_t b = 0; b < v.batch; ++b)
        for (size_t Y = 0; Y < out[1]; ++Y)
          for (size_t X = 0; X < out[0]; ++X) sum.add(g.at(b, {X, Y, c}));
      v.delta[kPoolBias](0, c) = sum.get();
    }
  }

  // Softmax runs along the rows, the axis of size[0].
  template <class T>
  void activate(Array<T>& y, size_t b) const {
    std::vector<T> z(y.count());
    for (size_t k = 0; k < z.size(); ++k) z[k] = y(b, k);
    const std::vector<T> x = z;
    const bool log = activation.function == BNNSActivationFunctionLogSoftmax;
    if (is_softmax(activation.function)) {
      for (const auto& group : softmax_groups(y.shape(), 1, 1)) softmax(x, z, group, log);
    } else {
      for (T& value : z)
        value = formula<T>(activation.function).y(value, T(activation.alpha), T(activation.beta));
    }
    for (size_t k = 0; k < z.size(); ++k) y(b, k) = z[k];
  }

  template <class T>
  Array<T> gradient(const Values<T>& v) const {
    const Array<T>&y = v.value[kPoolOut], &dy = v.delta[kPoolOut];
    Array<T> g = dy;
    const bool log = activation.function == BNNSActivationFunctionLogSoftmax;
    for (size_t b = 0; b < v.batch; ++b) {
      if (is_softmax(activation.function)) {
        std::vector<T> ys(y.count()), dys(y.count()), gs(y.count());
        for (size_t k = 0; k < y.count(); ++k) ys[k] = y(b, k), dys[k] = dy(b, k);
        for (const auto& group : softmax_groups(y.shape(), 1, 1))
          softmax_backward(ys, dys, gs, group, log);
        for (size_t k = 0; k < y.count(); ++k) g(b, k) = gs[k];
        continue;
      }
      if (activation.function == BNNSActivationFunctionIdentity) continue;
      for (size_t k = 0; k < y.count(); ++k)
        g(b, k) = formula<T>(activation.function)
                      .from_y(y(b, k), T(activation.alpha), T(activation.beta)) *
                  dy(b, k);
    }
    return g;
  }
};

// Windows and cells exchange their roles; index[k] belongs to the k-th value of the batch.
struct UnMax {
  Pooling pooling;
  std::vector<size_t> index;

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>& x = v.value[kPoolIn];
    Array<T>& y = v.value[kPoolOut];
    const size_t plane = pooling.size.width * pooling.size.height;
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < y.count(); ++k)
        y(b, k) = v.value.size() > kPoolBias ? v.value[kPoolBias](0, k / plane) : T(0);
      for (size_t k = 0; k < x.count(); ++k) {
        const size_t at = cell(x, b, k);
        y(b, at) =
            x(b, k) + (v.value.size() > kPoolBias ? v.value[kPoolBias](0, at / plane) : T(0));
      }
      pooling.activate(y, b);
    }
  }
  template <class T>
  void backward(Values<T>& v) const {
    const Array<T> g = pooling.gradient(v);
    pooling.bias_gradient(v, g);
    const Array<T>& x = v.value[kPoolIn];
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < x.count(); ++k) v.delta[kPoolIn](b, k) = g(b, cell(x, b, k));
  }

 private:
  template <class T>
  size_t cell(const Array<T>& x, size_t b, size_t k) const {
    const size_t channels = pooling.size.channels, plane = pooling.size.width * pooling.size.height;
    return k / (x.count() / channels) * plane + index[b * x.count() + k];
  }
};

}  // namespace spec::reference

#endif
