#include "train/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include "train/data/fail.h"

namespace bnns::train::impl {

struct GzipReader::Stream {
  z_stream z = {};
  std::array<std::byte, 1 << 16> packed;
};

bool is_gzip(const InputFile& file) {
  std::array<std::byte, 2> magic;
  if (file.size() < magic.size()) return false;
  file.read(0, magic);
  return magic[0] == std::byte{0x1F} && magic[1] == std::byte{0x8B};
}

GzipReader::GzipReader(const InputFile& file) : file_(file), stream_(std::make_unique<Stream>()) {
  constexpr int kGzipOnly = 16;
  if (inflateInit2(&stream_->z, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipReader::~GzipReader() {
  inflateEnd(&stream_->z);
}

bool GzipReader::refill() {
  const std::uint64_t left = file_.size() - offset_;
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>(left, stream_->packed.size()));
  file_.read(offset_, std::span(stream_->packed).first(count));
  offset_ += count;
  stream_->z.next_in = reinterpret_cast<Bytef*>(stream_->packed.data());
  stream_->z.avail_in = static_cast<uInt>(count);
  return count > 0;
}

std::size_t GzipReader::read(std::span<std::byte> bytes) {
  constexpr std::size_t kMost = 1 << 30;  // zlib counts in 32 bits
  z_stream& z = stream_->z;
  std::size_t done = 0;
  while (done < bytes.size() && !finished_) {
    if (z.avail_in == 0 && !refill()) {
      fail_data(file_.path(), "the gzip data is truncated after {} bytes", offset_);
    }
    const std::size_t wanted = std::min(bytes.size() - done, kMost);
    z.next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
    z.avail_out = static_cast<uInt>(wanted);
    const int status = inflate(&z, Z_NO_FLUSH);
    done += wanted - z.avail_out;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END) {
      // A file may hold several packed pieces; together they are the data.
      finished_ = z.avail_in == 0 && !refill();
      if (!finished_ && z.next_in[0] != 0x1F) {
        fail_data(file_.path(), "{} bytes follow the gzip data; nothing may",
                  z.avail_in + (file_.size() - offset_));
      }
      if (!finished_) inflateReset(&z);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_data(file_.path(), "the gzip data is corrupt near byte {}: {}", offset_ - z.avail_in,
                z.msg != nullptr ? z.msg : "no further reason");
    }
  }
  return done;
}

}  // namespace bnns::train::impl
