// JPEG through libjpeg: grey and colour. libjpeg leaves by longjmp on errors, which must not skip
// destructors: every call into it stands in a function of its own that has none (JpegReader::run).
#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "train/data/fail.h"
#include "train/data/image.h"

namespace bnns::train::impl {
namespace {

// A progressive picture may state its pixels again and again; honest ones have about ten scans.
constexpr int kMaxScans = 200;

class JpegReader {
 public:
  JpegReader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = on_progress;
    run([](JpegReader& r) { jpeg_create_decompress(&r.jpeg_); });
    jpeg_.progress = &progress_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;

  void read_header() {
    run([](JpegReader& r) {
      jpeg_mem_src(&r.jpeg_, reinterpret_cast<const unsigned char*>(r.bytes_.data()),
                   r.bytes_.size());
      jpeg_read_header(&r.jpeg_, TRUE);
    });
    const J_COLOR_SPACE space = jpeg_.jpeg_color_space;
    if (space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB) {
      fail_data(where_, "the JPEG data has {} colour components; grey, YCbCr and RGB are read",
                jpeg_.num_components);
    }
    shape_ = {.width = jpeg_.image_width,
              .height = jpeg_.image_height,
              .channels = space == JCS_GRAYSCALE ? 1u : 3u};
    check_image_shape(where_, shape_, jpeg_has_multiple_scans(&jpeg_) != 0);
    jpeg_.out_color_space = space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_.dct_method = JDCT_ISLOW;
  }

  void read_rows(RowSink& sink) {
    run([](JpegReader& r) { jpeg_start_decompress(&r.jpeg_); });
    sink.begin(shape_);
    stored_.resize(shape_.width * shape_.channels);
    row_.resize(stored_.size());
    for (std::size_t y = 0; y < shape_.height; ++y) {
      run([](JpegReader& r) {
        JSAMPROW row = r.stored_.data();
        jpeg_read_scanlines(&r.jpeg_, &row, 1);
      });
      for (std::size_t i = 0; i < row_.size(); ++i) {
        row_[i] = static_cast<std::uint16_t>(stored_[i] * 257);
      }
      sink.row(row_);
    }
    run([](JpegReader& r) { jpeg_finish_decompress(&r.jpeg_); });
  }

 private:
  // Calls into libjpeg; throws if it reports an error. The step has nothing to destroy.
  void run(void (*step)(JpegReader&)) {
    if (!attempt(step)) fail_data(where_, "the JPEG data cannot be decoded: {}", message_);
  }
  bool attempt(void (*step)(JpegReader&)) {
    if (setjmp(escape_) != 0) return false;
    step(*this);
    return true;
  }

  static void on_error(j_common_ptr jpeg) {
    auto& reader = *static_cast<JpegReader*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, reader.message_);
    longjmp(reader.escape_, 1);
  }
  // Level -1 is damaged data, which libjpeg would fill up with grey. Bytes between two parts of a
  // file, which some cameras write, do no damage.
  static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) on_error(jpeg);
  }
  static void on_progress(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxScans) return;
    auto& reader = *static_cast<JpegReader*>(jpeg->client_data);
    snprintf(reader.message_, sizeof(reader.message_), "it has more than %d scans", kMaxScans);
    longjmp(reader.escape_, 1);
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jmp_buf escape_;
  char message_[JMSG_LENGTH_MAX] = {};
  SampleShape shape_;
  std::vector<JSAMPLE> stored_;
  std::vector<std::uint16_t> row_;
};

}  // namespace

void decode_jpeg(std::span<const std::byte> bytes, const std::string& where, RowSink& sink) {
  JpegReader reader(bytes, where);
  reader.read_header();
  reader.read_rows(sink);
}

}  // namespace bnns::train::impl
