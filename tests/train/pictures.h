// Pictures for the tests: PNG chunk by chunk, so that each may be wrong; JPEG through libjpeg.
#ifndef OPENBNNS_TESTS_TRAIN_PICTURES_H
#define OPENBNNS_TESTS_TRAIN_PICTURES_H

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <string>

#include "files.h"

namespace bnns::train {

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size(), 4) + body + big_endian(crc, 4);
}

struct Png {
  std::uint32_t width, height;
  int depth = 8;
  int colour = 0;    // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha
  std::string rows;  // each begins with its filter, 0
  std::string chunks = {};
  int interlace = 0;
  std::size_t times = 1;  // how often rows is repeated

  std::string bytes() const {
    std::string header = big_endian(width, 4) + big_endian(height, 4);
    for (const int b : {depth, colour, 0, 0, interlace}) header += static_cast<char>(b);
    return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header) + chunks +
           png_chunk("IDAT", deflated(rows, times)) + png_chunk("IEND", "");
  }
};

// Every pixel is the same; components is 1 or 3.
inline std::string jpeg(unsigned width, unsigned height, int components, unsigned char value,
                        bool progressive = false) {
  jpeg_compress_struct j = {};
  jpeg_error_mgr errors = {};
  j.err = jpeg_std_error(&errors);
  jpeg_create_compress(&j);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&j, &memory, &size);
  j.image_width = width;
  j.image_height = height;
  j.input_components = components;
  j.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&j);
  if (progressive) jpeg_simple_progression(&j);
  jpeg_start_compress(&j, TRUE);
  std::string row(std::size_t{width} * static_cast<unsigned>(components), static_cast<char>(value));
  for (unsigned y = 0; y < height; ++y) {
    JSAMPROW pointer = reinterpret_cast<JSAMPROW>(row.data());
    jpeg_write_scanlines(&j, &pointer, 1);
  }
  jpeg_finish_compress(&j);
  jpeg_destroy_compress(&j);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  free(memory);
  return bytes;
}

}  // namespace bnns::train

#endif
