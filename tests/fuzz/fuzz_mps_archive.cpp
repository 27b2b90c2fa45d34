// Archives of MPS kernels: any bytes are refused as corrupt, or decode to a kernel whose archive
// decodes to the same. The checksum is made right first, so that the fields are reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "openbnns/mps.hpp"

namespace {

using namespace bnns;

uint32_t crc32(const std::vector<std::byte>& bytes, size_t count) {
  uint32_t crc = ~uint32_t{0};
  for (size_t i = 0; i < count; ++i) {
    crc ^= static_cast<uint8_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

template <class Kernel>
void decode(const std::vector<std::byte>& bytes, const std::shared_ptr<MTL::Device>& device) {
  std::shared_ptr<Kernel> kernel;
  try {
    kernel = Kernel::decode(bytes, device);
  } catch (const MPS::Error& error) {
    if (error.code() != MPS::ErrorCode::CorruptArchive) std::abort();
    return;
  }
  const std::vector<std::byte> written = kernel->encode();
  if (Kernel::decode(written, device)->encode() != written) std::abort();
}

// The archive of a kernel, changed by the input: each triple of bytes is a place and a new value.
template <class Kernel>
std::vector<std::byte> changed(const uint8_t* data, size_t size,
                               const std::shared_ptr<MTL::Device>& device) {
  const MPS::CNNLossDescriptor loss(MPS::CNNLossType::Huber, MPS::CNNReductionType::Mean);
  std::vector<std::byte> bytes = Kernel(device, loss).encode();
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t place = (data[i] | size_t{data[i + 1]} << 8) % bytes.size();
    bytes[place] = static_cast<std::byte>(data[i + 2]);
  }
  return bytes;
}

template <class Kernel>
void run(const uint8_t* data, size_t size, const std::shared_ptr<MTL::Device>& device) {
  std::vector<std::byte> raw(size);
  if (size > 0) std::memcpy(raw.data(), data, size);
  for (std::vector<std::byte> bytes : {raw, changed<Kernel>(data, size, device)}) {
    decode<Kernel>(bytes, device);
    if (bytes.size() < 4) continue;
    const uint32_t crc = crc32(bytes, bytes.size() - 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &crc, 4);
    decode<Kernel>(bytes, device);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto device = MTL::Device::create("cpu");
  const uint8_t kind = data[0] % 3;
  if (kind == 0) run<MPS::NNLossGradient>(data + 1, size - 1, device);
  if (kind == 1) run<MPS::NNForwardLoss>(data + 1, size - 1, device);
  if (kind == 2) run<MPS::CNNLoss>(data + 1, size - 1, device);
  return 0;
}
