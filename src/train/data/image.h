// Pictures in files: PNG, JPEG, PGM and PPM. A decoder hands out rows from top to bottom, so that a
// large picture that becomes a small sample never lies in memory as a whole.
#ifndef OPENBNNS_TRAIN_DATA_IMAGE_H
#define OPENBNNS_TRAIN_DATA_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "openbnns/train/data.hpp"
#include "train/files/input_file.h"

namespace bnns::train::impl {

inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 26;
// Of formats whose rows are not stored from top to bottom: interlaced PNG, progressive JPEG.
inline constexpr std::uint64_t kMaxBufferedPixels = std::uint64_t{1} << 24;

// Takes the rows of a picture. Values are interleaved (R, G, B, R, ...) and fill the 16 bits,
// whatever depth the file has; there is no alpha channel any more.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Channels is 1 or 3.
  virtual void begin(SampleShape shape) = 0;
  virtual void row(std::span<const std::uint16_t> values) = 0;
};

// The size of the picture in a file and its channels (1 or 3), from the header alone.
SampleShape read_image_shape(const InputFile& file);

// Hands all rows to the sink, or throws Error with where (the name of the file) and the reason.
void decode_image(std::span<const std::byte> bytes, const std::string& where, RowSink& sink);
// The same for one format.
void decode_png(std::span<const std::byte> bytes, const std::string& where, RowSink& sink);
void decode_jpeg(std::span<const std::byte> bytes, const std::string& where, RowSink& sink);
void decode_pnm(std::span<const std::byte> bytes, const std::string& where, RowSink& sink);

// The header of a PGM or PPM picture. Bytes may end after it.
struct PnmHeader {
  SampleShape shape;
  bool is_text = false;
  std::uint32_t largest = 0;  // the value of white
  std::size_t bytes = 0;      // where the values begin
};
PnmHeader read_pnm_header(std::span<const std::byte> bytes, const std::string& where);

// Refuses a picture without pixels, or with more than may be decoded.
void check_image_shape(const std::string& where, SampleShape shape, bool buffered);

// Brings a picture to a shape and writes it channel by channel in [0, 1]. With resample false, a
// picture of another size is refused.
void read_image_values(const std::string& path, SampleShape shape, bool resample,
                       std::span<float> values);

}  // namespace bnns::train::impl

#endif
