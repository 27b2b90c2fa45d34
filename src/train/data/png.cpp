// PNG through libpng. libpng leaves by longjmp on errors, which must not skip destructors: every
// call into it stands in a function of its own that has none (PngReader::run).
#include <png.h>

#include <setjmp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "train/data/fail.h"
#include "train/data/image.h"

namespace bnns::train::impl {
namespace {

class PngReader {
 public:
  PngReader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;

  void read_header() {
    run([](PngReader& r) {
      png_set_read_fn(r.png_, &r, on_read);
      png_set_user_limits(r.png_, 0x7FFFFFFF, 0x7FFFFFFF);  // check_image_shape limits the product
      png_set_chunk_malloc_max(r.png_, 8 << 20);
      png_read_info(r.png_, r.info_);
    });
    shape_ = {.width = png_get_image_width(png_, info_),
              .height = png_get_image_height(png_, info_),
              .channels = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0 ? 3u : 1u};
    interlaced_ = png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
    check_image_shape(where_, shape_, interlaced_);
    run([](PngReader& r) {
      png_set_expand_16(r.png_);  // palettes, small depths and transparent colours as well
      png_set_interlace_handling(r.png_);
      png_read_update_info(r.png_, r.info_);
    });
    stored_channels_ = png_get_channels(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
  }

  void read_rows(RowSink& sink) {
    sink.begin(shape_);
    row_.resize(shape_.width * shape_.channels);
    if (interlaced_) {
      // Not touched before rows arrive: a small file that declares much does not cost much.
      buffer_ = std::make_unique_for_overwrite<png_byte[]>(row_bytes_ * shape_.height);
      for (std::size_t y = 0; y < shape_.height; ++y) rows_.push_back(&buffer_[y * row_bytes_]);
      run([](PngReader& r) { png_read_image(r.png_, r.rows_.data()); });
      for (std::size_t y = 0; y < shape_.height; ++y) sink.row(blend(rows_[y]));
    } else {
      buffer_ = std::make_unique_for_overwrite<png_byte[]>(row_bytes_);
      for (std::size_t y = 0; y < shape_.height; ++y) {
        run([](PngReader& r) { png_read_row(r.png_, r.buffer_.get(), nullptr); });
        sink.row(blend(buffer_.get()));
      }
    }
    run([](PngReader& r) { png_read_end(r.png_, nullptr); });
  }

 private:
  // Calls into libpng; throws if it reports an error. The step has nothing to destroy.
  void run(void (*step)(PngReader&)) {
    if (!attempt(step)) fail_data(where_, "the PNG data cannot be decoded: {}", message_);
  }
  bool attempt(void (*step)(PngReader&)) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    step(*this);
    return true;
  }

  static void on_error(png_structp png, png_const_charp text) {
    auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader.message_, text, sizeof(reader.message_) - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader.bytes_.size() - reader.place_) png_error(png, "the file ends too early");
    std::memcpy(to, reader.bytes_.data() + reader.place_, count);
    reader.place_ += count;
  }

  // A row without its alpha channel: laid over white, as a page shows it.
  std::span<const std::uint16_t> blend(const png_byte* stored) {
    constexpr std::uint64_t kWhite = 65535;
    const auto value = [&](std::size_t i) {
      return std::uint64_t{stored[2 * i]} << 8 | stored[2 * i + 1];
    };
    const bool has_alpha = stored_channels_ > shape_.channels;
    for (std::size_t x = 0; x < shape_.width; ++x) {
      const std::size_t pixel = x * stored_channels_;
      const std::uint64_t alpha = has_alpha ? value(pixel + shape_.channels) : kWhite;
      for (std::size_t c = 0; c < shape_.channels; ++c) {
        const std::uint64_t sum = value(pixel + c) * alpha + kWhite * (kWhite - alpha);
        row_[x * shape_.channels + c] = static_cast<std::uint16_t>((sum + kWhite / 2) / kWhite);
      }
    }
    return row_;
  }

  std::span<const std::byte> bytes_;
  std::size_t place_ = 0;
  const std::string& where_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[128] = {};
  SampleShape shape_;
  bool interlaced_ = false;
  std::size_t stored_channels_ = 0, row_bytes_ = 0;
  std::unique_ptr<png_byte[]> buffer_;
  std::vector<png_bytep> rows_;
  std::vector<std::uint16_t> row_;
};

}  // namespace

void decode_png(std::span<const std::byte> bytes, const std::string& where, RowSink& sink) {
  PngReader reader(bytes, where);
  reader.read_header();
  reader.read_rows(sink);
}

}  // namespace bnns::train::impl
