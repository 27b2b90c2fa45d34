// PNG pictures as data: URIs.
#ifndef OPENBNNS_TRAIN_REPORT_PNG_H
#define OPENBNNS_TRAIN_REPORT_PNG_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bnns::train::impl {

// Pixels row by row, 1 (grey) or 3 (RGB) channels of 8 bits side by side.
std::string png_data_uri(std::size_t width, std::size_t height, std::size_t channels,
                         std::span<const std::uint8_t> pixels);

}  // namespace bnns::train::impl

#endif
