#include "ops/crop_resize/crop_resize.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "math/half.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

// Samples that are computed or read at a time.
constexpr size_t kChunk = 512;
// Samples of one grain forward.
constexpr size_t kGrain = 4096;
// Floats of a band of image rows: they stay in the second-level cache.
constexpr size_t kBand = 32768;

View row_of(const View& view, size_t offset) {
  View row;
  row.data = static_cast<char*>(view.data) + offset * type_bytes(view.type);
  row.type = view.type;
  row.rank = 1;
  row.extent[0] = view.extent[0];
  row.stride[0] = view.stride[0];
  return row;
}

// ---- Boxes ----

struct BoxForm {
  int x, y;          // the first coordinate of each axis
  int x_end, y_end;  // its other coordinate: the end, or the size
  bool centre;
};

BoxForm form_of(BNNSBoxCoordinateMode mode) {
  switch (mode) {
    case BNNSCornersHeightFirst:
      return {.x = 1, .y = 0, .x_end = 3, .y_end = 2, .centre = false};
    case BNNSCornersWidthFirst:
      return {.x = 0, .y = 1, .x_end = 2, .y_end = 3, .centre = false};
    case BNNSCenterSizeHeightFirst:
      return {.x = 1, .y = 0, .x_end = 3, .y_end = 2, .centre = true};
    default:
      return {.x = 0, .y = 1, .x_end = 2, .y_end = 3, .centre = true};
  }
}

CropBox box_of(const CropResizeProblem& p, double a, double b, bool centre, size_t cells) {
  const double scale = double{p.scale} * (p.normalized ? static_cast<double>(cells - 1) : 1.0);
  if (!centre) return {a * scale, b * scale};
  return {(a - b / 2) * scale, (a + b / 2) * scale};
}

// The samples of all boxes along both axes.
class Samples {
 public:
  Samples(const Memory& memory, const CropResizeProblem& p)
      : width_(p.crops.extent[0]),
        height_(p.crops.extent[1]),
        x_(memory, checked_mul(width_, p.boxes.extent[1], "the samples of all boxes")),
        y_(memory, checked_mul(height_, p.boxes.extent[1], "the samples of all boxes")) {
    const BoxForm form = form_of(p.coordinates);
    const ConvertKernels& convert = *convert_kernels();
    for (size_t b = 0; b < p.boxes.extent[1]; ++b) {
      float given[4];
      read_values(convert, row_of(p.boxes, b * p.boxes.stride[1]), 0, 4, given);
      const size_t columns = p.image.extent[0], rows = p.image.extent[1];
      const double left = given[form.x], right = given[form.x_end];
      const double top = given[form.y], bottom = given[form.y_end];
      sample_box(p.sampling, box_of(p, left, right, form.centre, columns), columns, width_,
                 x_.data() + b * width_);
      sample_box(p.sampling, box_of(p, top, bottom, form.centre, rows), rows, height_,
                 y_.data() + b * height_);
    }
  }

  const CropSample* x(size_t box) const { return x_.data() + box * width_; }
  const CropSample* y(size_t box) const { return y_.data() + box * height_; }

 private:
  size_t width_, height_;
  Array<CropSample> x_, y_;
};

// ---- Planes ----

// Where plane number `plane` begins, and its place in each crop.
struct Plane {
  size_t image = 0, crops = 0;

  Plane(const CropResizeProblem& p, size_t plane) {
    for (size_t k = 2; k < p.image.rank; ++k) {
      const size_t i = plane % p.image.extent[k];
      plane /= p.image.extent[k];
      image += i * p.image.stride[k];
      crops += i * p.crops.stride[k];
    }
  }
};

size_t planes_of(const CropResizeProblem& p) {
  return p.image.count / (p.image.extent[0] * p.image.extent[1]);
}

// ---- Forward ----

struct CropRow {
  const void *first, *second;  // the rows of the image, nullptr: outside
  float weight[2];             // their weights
  size_t stride;
  float outside;
};

float load(const float* p) {
  return *p;
}
struct Half {
  uint16_t bits;
};
float load(const Half* p) {
  return half_to_float(p->bits);
}
struct BFloat {
  uint16_t bits;
};
float load(const BFloat* p) {
  return bfloat_to_float(p->bits);
}

template <class T>
float along_row(const void* row, const CropRow& r, const CropSample& s) {
  if (row == nullptr) return r.outside;
  const auto pixel = [&](ptrdiff_t cell) {
    const T* pixels = static_cast<const T*>(row);
    return cell < 0 ? r.outside : load(pixels + static_cast<size_t>(cell) * r.stride);
  };
  const float a = pixel(s.cell[0]);
  return s.weight[1] == 0 ? a : s.weight[0] * a + s.weight[1] * pixel(s.cell[1]);
}

template <class T>
void crop_row(const CropRow& r, const CropSample* samples, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    const CropSample& s = samples[i];
    const bool none =
        (r.first == nullptr && r.second == nullptr) || (s.cell[0] < 0 && s.cell[1] < 0);
    const float a = none ? r.outside : along_row<T>(r.first, r, s);
    out[i] =
        none || r.weight[1] == 0 ? a : r.weight[0] * a + r.weight[1] * along_row<T>(r.second, r, s);
  }
}

using CropRowFunction = void (*)(const CropRow&, const CropSample*, size_t, float*);
CropRowFunction crop_row_of(BNNSDataType type) {
  if (type == BNNSDataTypeFloat32) return crop_row<float>;
  return type == BNNSDataTypeFloat16 ? crop_row<Half> : crop_row<BFloat>;
}

// Rows [first, first + count) of one box in one plane.
void crop(const CropResizeProblem& p, const Samples& samples, const Plane& plane, size_t box,
          size_t first, size_t count) {
  const CropRowFunction function = crop_row_of(p.image.type);
  const ConvertKernels& convert = *convert_kernels();
  const size_t width = p.crops.extent[0];
  const bool direct = p.crops.is_float() && p.crops.stride[0] == 1;
  float buffer[kChunk];
  for (size_t j = first; j < first + count; ++j) {
    const CropSample& y = samples.y(box)[j];
    const auto image_row = [&](ptrdiff_t row) -> const void* {
      if (row < 0) return nullptr;
      return row_of(p.image, plane.image + static_cast<size_t>(row) * p.image.stride[1]).data;
    };
    const CropRow r = {image_row(y.cell[0]),
                       image_row(y.cell[1]),
                       {y.weight[0], y.weight[1]},
                       p.image.stride[0],
                       p.outside};
    const View to = row_of(
        p.crops, plane.crops + j * p.crops.stride[1] + box * p.crops.stride[p.crops.rank - 1]);
    for (size_t i = 0; i < width; i += kChunk) {
      const size_t n = std::min(kChunk, width - i);
      function(r, samples.x(box) + i, n, direct ? static_cast<float*>(to.data) + i : buffer);
      if (!direct) write_values(convert, to, i, n, buffer);
    }
  }
}

// ---- Backward ----

// Image rows [first, first + count) of one plane.
class Band {
 public:
  Band(const CropResizeProblem& p, const Samples& samples, const Plane& plane, size_t first,
       size_t count, float* sums)
      : p_(p), samples_(samples), plane_(plane), first_(first), count_(count), sums_(sums) {}

  void run() {
    std::fill_n(sums_, count_ * p_.image.extent[0], 0.0f);
    for (size_t b = 0; b < p_.boxes.extent[1]; ++b)
      for (size_t j = 0; j < p_.crops.extent[1]; ++j) add_row(b, j);
    for (size_t y = 0; y < count_; ++y) store_row(y);
  }

 private:
  float* row_at(ptrdiff_t row) const {
    const auto y = static_cast<size_t>(row);
    if (row < 0 || y < first_ || y >= first_ + count_) return nullptr;
    return sums_ + (y - first_) * p_.image.extent[0];
  }

  void add_row(size_t box, size_t j) {
    const CropSample& y = samples_.y(box)[j];
    float *first = row_at(y.cell[0]), *second = row_at(y.cell[1]);
    if (first == nullptr && second == nullptr) return;
    const View from = row_of(
        p_.crops, plane_.crops + j * p_.crops.stride[1] + box * p_.crops.stride[p_.crops.rank - 1]);
    const size_t width = p_.crops.extent[0];
    for (size_t i = 0; i < width; i += kChunk) {
      const size_t n = std::min(kChunk, width - i);
      read_values(convert_, from, i, n, buffer_);
      if (first != nullptr) spread(samples_.x(box) + i, n, y.weight[0], first);
      if (second != nullptr) spread(samples_.x(box) + i, n, y.weight[1], second);
    }
  }

  void spread(const CropSample* samples, size_t n, float row_weight, float* row) const {
    for (size_t i = 0; i < n; ++i) {
      const CropSample& s = samples[i];
      const float g = row_weight * buffer_[i];
      if (s.cell[0] >= 0) row[s.cell[0]] += s.weight[0] * g;
      if (s.cell[1] >= 0) row[s.cell[1]] += s.weight[1] * g;
    }
  }

  void store_row(size_t y) {
    const size_t width = p_.image.extent[0];
    const View to = row_of(p_.image, plane_.image + (first_ + y) * p_.image.stride[1]);
    for (size_t i = 0; i < width; i += kChunk) {
      const size_t n = std::min(kChunk, width - i);
      const float* sums = sums_ + y * width + i;
      if (p_.accumulate) {
        read_values(convert_, to, i, n, buffer_);
        for (size_t k = 0; k < n; ++k) buffer_[k] += sums[k];
        sums = buffer_;
      }
      write_values(convert_, to, i, n, sums);
    }
  }

  const CropResizeProblem& p_;
  const Samples& samples_;
  const Plane& plane_;
  const size_t first_, count_;
  float* sums_;
  const ConvertKernels& convert_ = *convert_kernels();
  float buffer_[kChunk];
};

}  // namespace

void run_crop_resize(const Memory& memory, size_t threads, const CropResizeProblem& p) {
  const Samples samples(memory, p);
  const size_t width = p.crops.extent[0], height = p.crops.extent[1];
  const size_t boxes = p.boxes.extent[1], planes = planes_of(p);
  const size_t part = std::clamp<size_t>(kGrain / width, 1, height), parts = div_up(height, part);
  const size_t useful = useful_threads(threads, 3.0 * static_cast<double>(p.crops.count));
  parallel_for(useful, parts * planes * boxes, [&](size_t grain, size_t) {
    const size_t first = grain % parts * part, rest = grain / parts;
    crop(p, samples, Plane(p, rest % planes), rest / planes, first, std::min(part, height - first));
  });
}

void run_crop_resize_backward(const Memory& memory, size_t threads, const CropResizeProblem& p) {
  const Samples samples(memory, p);
  const size_t width = p.image.extent[0], height = p.image.extent[1];
  const size_t band = std::clamp<size_t>(kBand / width, 1, height), bands = div_up(height, band);
  const double nanoseconds =
      4.0 * static_cast<double>(p.crops.count) + static_cast<double>(p.image.count);
  const size_t grains = bands * planes_of(p);
  const size_t useful = std::min(useful_threads(threads, nanoseconds), grains);
  const Array<float> sums(
      memory, checked_mul(useful, checked_mul(band, width, "a band of rows"), "bands of rows"));
  parallel_for(useful, grains, [&](size_t grain, size_t worker) {
    const size_t first = grain % bands * band;
    const Plane plane(p, grain / bands);
    Band(p, samples, plane, first, std::min(band, height - first),
         sums.data() + worker * band * width)
        .run();
  });
}

}  // namespace bnns::impl
