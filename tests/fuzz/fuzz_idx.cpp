// Any bytes as an IDX file of images or of labels, plain, or packed by the target so that the
// header behind the gzip data is reached, or as gzip data themselves. A file is refused with an
// Error of kind `data`, or all samples are finite and of one of the classes.
#include <zlib.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "openbnns/train/error.hpp"
#include "openbnns/train/open_data.hpp"
#include "scratch_file.h"

namespace {

using namespace bnns::train;

std::string packed(std::string_view bytes) {
  z_stream z = {};
  deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&z, bytes.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(result.data());
  z.avail_out = static_cast<uInt>(result.size());
  deflate(&z, Z_FINISH);
  result.resize(z.total_out);
  deflateEnd(&z);
  return result;
}

// Labels 0, 1, 0, 1 ... for as many images as the header declares, if these are few.
std::string labels_for(std::string_view images) {
  std::size_t count = images.size() > 7 ? static_cast<unsigned char>(images[7]) : 1;
  std::string labels = {0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
  for (std::size_t i = 0; i < count; ++i) labels += static_cast<char>(i % 2);
  return labels;
}

void check(const Data& data) {
  const DataDescription& d = data.description();
  std::vector<float> values(d.shape.count()), targets(1);
  for (std::size_t n = 0; n < data.size(); ++n) {
    data.read(n, values, targets);
    if (!(targets[0] >= 0 && targets[0] < static_cast<float>(d.class_names.size()))) std::abort();
    for (const float v : values) {
      if (!std::isfinite(v)) std::abort();
    }
  }
  if (data.class_counts().size() != d.class_names.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::ScratchFile images("images"), labels("labels");
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string four = {0, 0, 8, 2, 0, 0, 0, 4, 0, 0, 0, 1, 'a', 'b', 'c', 'd'};
  const bool is_packed = (data[0] & 1) != 0, is_labels = (data[0] & 2) != 0;
  // Small data goes to memory or to a temporary file.
  const DataOptions options{.memory_limit = (data[0] & 4) != 0 ? size_t{0} : size_t{1} << 20};
  const std::string given = is_packed ? packed(bytes) : std::string(bytes);
  try {
    const Data read = is_labels
                          ? open_idx(images.write(four), labels.write(given), options)
                          : open_idx(images.write(given), labels.write(labels_for(bytes)), options);
    check(read);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::data) std::abort();
  }
  return 0;
}
