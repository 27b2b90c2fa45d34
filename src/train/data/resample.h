// Brings the rows of a picture to another size and number of channels.
//
// Each axis by itself: where the picture shrinks, a new pixel is the mean of the area it covers;
// where it grows, it is interpolated linearly between the middles of the old ones; where the size
// is the same, it is the old pixel exactly. The aspect ratio is not kept. Grey becomes RGB by
// repetition, RGB becomes grey as 0.299 R + 0.587 G + 0.114 B.
#ifndef OPENBNNS_TRAIN_DATA_RESAMPLE_H
#define OPENBNNS_TRAIN_DATA_RESAMPLE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "train/data/image.h"

namespace bnns::train::impl {

// The old pixels that make up a new one, and their weights, whose sum is 1.
struct PixelWeights {
  std::size_t first = 0;
  std::vector<float> weights;
};

std::vector<PixelWeights> axis_weights(std::size_t from, std::size_t to);

class Resampler final : public RowSink {
 public:
  // Writes shape.count() values, channel by channel, in [0, 1].
  Resampler(SampleShape shape, std::span<float> values) : shape_(shape), values_(values) {}

  void begin(SampleShape from) override;
  void row(std::span<const std::uint16_t> values) override;

 private:
  void convert(std::span<const std::uint16_t> values);

  SampleShape shape_, from_;
  std::span<float> values_;
  std::vector<PixelWeights> columns_, rows_;
  std::vector<float> converted_;  // the old row in the new channels, channel by channel
  std::vector<float> narrow_;     // the same in the new width
  std::size_t next_row_ = 0;      // of the old picture
  std::size_t first_open_ = 0;    // the first new row that older rows have not completed
};

}  // namespace bnns::train::impl

#endif
