// Indices of max pooling's gradient, for windows that have kernels of their own: in their windows,
// beside them, elsewhere in the plane, and outside of it.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "support/pooling_call.h"

namespace bnns::test {
namespace {

struct Windows {
  size_t kernel, pad, columns, rows, extra;  // extra: cells behind the last window, one may lack

  size_t cells(size_t windows) const { return 2 * (windows - 1) + kernel + extra - pad - 1; }
  size_t width() const { return cells(columns); }
  size_t height() const { return cells(rows); }
  size_t plane() const { return width() * height(); }
  size_t windows() const { return columns * rows; }
};

constexpr size_t kPlanes = 3;

// The gradient as it is defined, of values that are added without rounding.
template <class T>
class Gradient {
 public:
  explicit Gradient(const Windows& w)
      : indices(kPlanes * w.windows()), w_(w), dx_(Space{kPlanes * w.plane()}) {
    BNNSLayerParametersPooling p = {};
    p.i_desc = image_of(w.width(), w.height(), kPlanes);
    p.o_desc = image_of(w.columns, w.rows, kPlanes);
    p.pooling_function = BNNSPoolingFunctionMax;
    p.k_width = p.k_height = w.kernel;
    p.x_stride = p.y_stride = 2;
    p.pad[0] = p.pad[1] = p.pad[2] = p.pad[3] = w.pad;
    filter_ = Filter(BNNSFilterCreateLayerPooling(&p, nullptr));
    EXPECT_TRUE(filter_) << OpenBNNSGetLastError();
    for (size_t k = 0; k < indices.size(); ++k) {
      dy_.push_back(static_cast<float>(k % 100 + 1));
      indices[k] = cell_of(k % w.windows());
    }
  }

  bool apply() {
    for (size_t i = 0; i < dx_.size(); ++i) dx_[i] = -1;
    dx_.remember();
    BNNSNDArrayDescriptor dx = image_of(w_.width(), w_.height(), kPlanes, dx_.data());
    BNNSNDArrayDescriptor dy = image_of(w_.columns, w_.rows, kPlanes, dy_.data());
    const auto type = sizeof(T) == 4 ? BNNSDataTypeUInt32 : BNNSDataTypeUInt64;
    return BNNSPoolingFilterApplyBackwardBatchEx(filter_.get(), 1, nullptr, 0, &dx, 0, nullptr, 0,
                                                 &dy, 0, nullptr, type, indices.data(), 0) == 0;
  }
  void expect_followed() {
    ASSERT_TRUE(apply()) << OpenBNNSGetLastError();
    std::vector<float> expected(dx_.size());
    for (size_t k = 0; k < indices.size(); ++k)
      expected[k / w_.windows() * w_.plane() + indices[k]] += dy_[k];
    ASSERT_EQ(std::vector<float>(dx_.data(), dx_.data() + dx_.size()), expected);
  }
  void expect_refused() {
    EXPECT_FALSE(apply());
    EXPECT_TRUE(dx_.untouched());
  }

  std::vector<T> indices;

 private:
  // Any of the window.
  T cell_of(size_t window) {
    const auto along = [&](size_t i, size_t cells) {
      for (;;) {
        const size_t cell = 2 * i + random_() % w_.kernel - w_.pad;
        if (cell < cells) return cell;
      }
    };
    const size_t row = along(window / w_.columns, w_.height());
    return static_cast<T>(row * w_.width() + along(window % w_.columns, w_.width()));
  }

  Windows w_;
  Filter filter_;
  Guarded<float> dx_;
  std::vector<float> dy_;
  std::mt19937 random_{5};
};

template <class F>
void for_windows(const F& f) {
  for (const size_t kernel : {2, 3}) {
    for (size_t pad = 0; pad <= kernel - 2; ++pad) {
      for (const size_t columns : {2, 3, 7, 8, 9, 16, 28, 33, 70}) {
        for (const size_t extra : {0, 1, 2}) {
          if (kernel == 2 && extra == 0) continue;
          const Windows w = {kernel, pad, columns, 4, extra};
          SCOPED_TRACE(testing::Message() << "kernel " << kernel << " pad " << pad << " columns "
                                          << columns << " extra " << extra);
          f(w);
        }
      }
    }
  }
}

template <class T>
void follow() {
  for_windows([](const Windows& w) {
    Gradient<T> gradient(w);
    gradient.expect_followed();
    // Beside its window, which may be in another row of cells, and far from it.
    const size_t step = w.columns < 9 ? 1 : 13;
    for (const size_t window : {size_t{0}, w.columns - 1, w.columns, w.windows() - 1}) {
      for (size_t cell = 0; cell < w.plane(); cell += step) {
        T& index = gradient.indices[w.windows() + window];
        const T before = std::exchange(index, static_cast<T>(cell));
        gradient.expect_followed();
        index = before;
      }
    }
  });
}

template <class T>
void refuse() {
  for_windows([](const Windows& w) {
    Gradient<T> gradient(w);
    for (const size_t window : {size_t{0}, w.columns - 1, w.windows() / 2, w.windows() - 1}) {
      T& index = gradient.indices[2 * w.windows() + window];
      const T inside = index;
      const uint64_t outside[] = {w.plane(),
                                  w.plane() + w.width() - 1,
                                  uint64_t{0} - 1,
                                  uint64_t{0} - w.width(),
                                  inside + (uint64_t{1} << 31),
                                  inside + (uint64_t{1} << 32),
                                  inside + (uint64_t{1} << 63)};
      for (const uint64_t at : outside) {
        if (static_cast<T>(at) < w.plane()) continue;  // has no such bit
        index = static_cast<T>(at);
        gradient.expect_refused();
      }
      index = inside;
    }
  });
}

TEST(PoolingIndices, AreFollowed) {
  follow<uint64_t>();
  follow<uint32_t>();
}

TEST(PoolingIndices, OutsideThePlaneAreRefused) {
  refuse<uint64_t>();
  refuse<uint32_t>();
}

}  // namespace
}  // namespace bnns::test
