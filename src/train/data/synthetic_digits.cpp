// Digits drawn from strokes: a first data set that needs no file. A digit is a list of cubic
// curves in the unit square; a sample bends, shears, turns, scales and moves them, draws them with
// a pen of some width and adds noise. Only +, -, *, / and sqrt are used, whose results are the same
// on every machine.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "openbnns/train/open_data.hpp"
#include "train/content_hash.h"
#include "train/counter_random.h"

namespace bnns::train {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kClasses = 10;
constexpr std::uint64_t kDigitsKey = 0x444947495453;

struct Point {
  float x, y;  // y grows downwards
};

constexpr Point between(Point a, Point b, float t) {
  return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

struct Curve {
  Point begin, control1, control2, end;

  constexpr Point at(float t) const {
    const Point a = between(begin, control1, t), b = between(control1, control2, t),
                c = between(control2, end, t);
    return between(between(a, b, t), between(b, c, t), t);
  }
};

constexpr Curve line(Point a, Point b) {
  return {a, between(a, b, 1.0f / 3), between(a, b, 2.0f / 3), b};
}

// A quarter of an ellipse from a to b; it leaves a upwards or downwards if vertical.
constexpr Curve quarter(Point a, Point b, bool vertical) {
  constexpr float kCircle = 0.5523f;
  const Point corner = vertical ? Point{a.x, b.y} : Point{b.x, a.y};
  return {a, between(a, corner, kCircle), between(b, corner, kCircle), b};
}

struct Loop {
  float x, y, radius_x, radius_y;
};

void add_loop(std::vector<Curve>& curves, Loop o) {
  const Point right{o.x + o.radius_x, o.y}, left{o.x - o.radius_x, o.y};
  const Point top{o.x, o.y - o.radius_y}, bottom{o.x, o.y + o.radius_y};
  curves.insert(curves.end(), {quarter(right, top, true), quarter(top, left, false),
                               quarter(left, bottom, true), quarter(bottom, right, false)});
}

// Some digits are written in more than one way; style is 0, 1 or 2.
std::vector<Curve> strokes(std::size_t digit, std::uint64_t style) {
  std::vector<Curve> curves;
  switch (digit) {
    case 0:
      add_loop(curves, {.x = 0.5f, .y = 0.5f, .radius_x = 0.27f, .radius_y = 0.4f});
      break;
    case 1:
      curves = {line({0.5f, 0.1f}, {0.5f, 0.9f})};
      if (style > 0) curves.push_back(line({0.32f, 0.3f}, {0.5f, 0.1f}));
      if (style > 1) curves.push_back(line({0.34f, 0.9f}, {0.66f, 0.9f}));
      break;
    case 2:
      curves = {quarter({0.25f, 0.33f}, {0.5f, 0.1f}, true),
                quarter({0.5f, 0.1f}, {0.74f, 0.33f}, false),
                {{0.74f, 0.33f}, {0.74f, 0.55f}, {0.45f, 0.7f}, {0.25f, 0.9f}},
                line({0.25f, 0.9f}, {0.77f, 0.9f})};
      break;
    case 3:
      curves = {quarter({0.28f, 0.22f}, {0.5f, 0.1f}, true),
                quarter({0.5f, 0.1f}, {0.7f, 0.29f}, false),
                quarter({0.7f, 0.29f}, {0.46f, 0.48f}, true),
                quarter({0.46f, 0.48f}, {0.76f, 0.69f}, false),
                quarter({0.76f, 0.69f}, {0.5f, 0.9f}, true),
                quarter({0.5f, 0.9f}, {0.25f, 0.77f}, false)};
      break;
    case 4:
      curves = {line({style == 0 ? 0.6f : 0.42f, 0.1f}, {0.22f, 0.62f}),
                line({0.22f, 0.62f}, {0.8f, 0.62f}),
                line({0.62f, style == 0 ? 0.1f : 0.36f}, {0.62f, 0.9f})};
      break;
    case 5:
      curves = {line({0.73f, 0.1f}, {0.33f, 0.1f}),
                line({0.33f, 0.1f}, {0.3f, 0.46f}),
                {{0.3f, 0.46f}, {0.5f, 0.36f}, {0.76f, 0.42f}, {0.76f, 0.65f}},
                quarter({0.76f, 0.65f}, {0.5f, 0.9f}, true),
                quarter({0.5f, 0.9f}, {0.26f, 0.8f}, false)};
      break;
    case 6:
      curves = {{{0.66f, 0.1f}, {0.42f, 0.2f}, {0.27f, 0.42f}, {0.26f, 0.67f}}};
      add_loop(curves, {.x = 0.5f, .y = 0.67f, .radius_x = 0.24f, .radius_y = 0.23f});
      break;
    case 7:
      curves = {line({0.24f, 0.1f}, {0.76f, 0.1f}), line({0.76f, 0.1f}, {0.42f, 0.9f})};
      if (style > 0) curves.push_back(line({0.4f, 0.5f}, {0.72f, 0.5f}));
      break;
    case 8:
      add_loop(curves, {.x = 0.5f, .y = 0.29f, .radius_x = 0.2f, .radius_y = 0.19f});
      add_loop(curves, {.x = 0.5f, .y = 0.69f, .radius_x = 0.25f, .radius_y = 0.21f});
      break;
    default:
      add_loop(curves, {.x = 0.5f, .y = 0.33f, .radius_x = 0.23f, .radius_y = 0.22f});
      curves.push_back(style == 0
                           ? line({0.73f, 0.33f}, {0.68f, 0.9f})
                           : Curve{{0.73f, 0.33f}, {0.74f, 0.6f}, {0.66f, 0.8f}, {0.42f, 0.9f}});
  }
  return curves;
}

// How a sample distorts the plane, from its random numbers.
class Distortion {
 public:
  explicit Distortion(const CounterRandom& random) : random_(random) {
    for (float& b : bend_) b = between_numbers(-0.55f, 0.55f);
    const float width = kSide * between_numbers(0.6f, 0.9f);
    const float height = kSide * between_numbers(0.65f, 0.9f);
    const float shear = between_numbers(-0.3f, 0.3f);
    const float half = between_numbers(-0.13f, 0.13f);  // tangent of half the angle: 15 degrees
    const float cosine = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    matrix_ = {width * cosine, width * shear * cosine - height * sine,  //
               width * sine, width * shear * sine + height * cosine};
    shift_ = {between_numbers(-2.5f, 2.5f), between_numbers(-2.5f, 2.5f)};
  }

  float between_numbers(float low, float high) {
    return low + (high - low) * random_.uniform(next_++);
  }

  Point operator()(Point p) const {
    const float u = p.x - 0.5f, v = p.y - 0.5f;
    const float x = u + bend_[0] * u * u + bend_[1] * u * v + bend_[2] * v * v;
    const float y = v + bend_[3] * u * u + bend_[4] * u * v + bend_[5] * v * v;
    constexpr float kMiddle = kSide / 2.0f;
    return {kMiddle + shift_.x + matrix_[0] * x + matrix_[1] * y,
            kMiddle + shift_.y + matrix_[2] * x + matrix_[3] * y};
  }

 private:
  const CounterRandom& random_;
  std::uint64_t next_ = 0;
  std::array<float, 6> bend_ = {};
  std::array<float, 4> matrix_ = {};
  Point shift_ = {};
};

// The range of pixels whose middle lies within reach of two coordinates.
std::pair<std::size_t, std::size_t> pixel_range(float a, float b, float reach) {
  const float low = std::clamp(std::min(a, b) - reach, 0.0f, float(kSide));
  const float high = std::clamp(std::max(a, b) + reach, 0.0f, float(kSide));
  return {static_cast<std::size_t>(low), static_cast<std::size_t>(std::ceil(high))};
}

// Darkens the pixels whose middle is within half a pen and half a pixel of the line from a to b.
void draw(std::span<float> pixels, Point a, Point b, float pen) {
  const float reach = pen / 2 + 0.5f;
  const auto [left, right] = pixel_range(a.x, b.x, reach);
  const auto [top, bottom] = pixel_range(a.y, b.y, reach);
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float inverse_length = 1 / std::max(dx * dx + dy * dy, 1e-12f);
  for (std::size_t row = top; row < bottom; ++row) {
    for (std::size_t column = left; column < right; ++column) {
      const float x = static_cast<float>(column) + 0.5f - a.x;
      const float y = static_cast<float>(row) + 0.5f - a.y;
      // The nearest point of the line is at t of its length.
      const float t = std::clamp((x * dx + y * dy) * inverse_length, 0.0f, 1.0f);
      const float away_x = x - t * dx, away_y = y - t * dy;
      const float square = away_x * away_x + away_y * away_y;
      if (square >= reach * reach) continue;
      float& pixel = pixels[row * kSide + column];
      pixel = std::max(pixel, std::min(reach - std::sqrt(square), 1.0f));
    }
  }
}

void draw_digit(std::size_t digit, const CounterRandom& random, std::span<float> pixels) {
  constexpr int kPieces = 6;
  constexpr std::uint64_t kStyle = 1000, kNoise = 2000;  // places in the sequence of numbers
  Distortion distort(random);
  const float pen = distort.between_numbers(1.2f, 3.4f);
  const float contrast = distort.between_numbers(0.55f, 1.0f);
  const float noise = distort.between_numbers(0.0f, 0.25f);
  std::ranges::fill(pixels, 0.0f);
  for (const Curve& curve : strokes(digit, random.below(3, kStyle))) {
    Point from = distort(curve.begin);
    for (int i = 1; i <= kPieces; ++i) {
      const Point to = distort(curve.at(static_cast<float>(i) / kPieces));
      draw(pixels, from, to, pen);
      from = to;
    }
  }
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float grain = (random.uniform(kNoise + i) - 0.5f) * 2 * noise;
    pixels[i] = std::clamp(pixels[i] * contrast + grain, 0.0f, 1.0f);
  }
}

class SyntheticDigits final : public DataSource {
 public:
  SyntheticDigits(std::size_t count, std::uint64_t seed) : count_(count), seed_(seed) {
    description_.shape = {.width = kSide, .height = kSide};
    description_.kind = SampleKind::image;
    for (std::size_t i = 0; i < kClasses; ++i) {
      description_.class_names.push_back(std::to_string(i));
    }
  }

  const DataDescription& description() const override { return description_; }
  std::size_t size() const override { return count_; }
  void read(std::size_t index, std::span<float> values, std::span<float> targets) override {
    draw_digit(index % kClasses, CounterRandom{seed_, kDigitsKey, index}, values);
    read_targets(index, targets);
  }
  void read_targets(std::size_t index, std::span<float> targets) override {
    targets[0] = static_cast<float>(index % kClasses);
  }
  std::uint64_t fingerprint() override {
    ContentHash hash;
    hash.add(seed_);
    hash.add(count_);
    return hash.value();
  }

 private:
  std::size_t count_;
  std::uint64_t seed_;
  DataDescription description_;
};

}  // namespace

Data synthetic_digits(std::size_t count, std::uint64_t seed) {
  return Data(std::make_shared<SyntheticDigits>(count, seed));
}

}  // namespace bnns::train
