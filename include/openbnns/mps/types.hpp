// Errors, enumerations and small structures of the MPS classes.
#ifndef OPENBNNS_MPS_TYPES_HPP
#define OPENBNNS_MPS_TYPES_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "metal.hpp"

namespace bnns {
namespace MPS {

enum class ErrorCode {
  InvalidArgument,
  ShapeMismatch,
  Aliasing,
  DeviceMismatch,
  InvalidState,
  Unsupported,
  CorruptArchive,
  DeviceUnavailable,
  OutOfMemory,
  DeviceError
};

// what() names class, argument, index and both values.
class OPENBNNS_MPS_API Error : public std::runtime_error {
 public:
  Error(ErrorCode c, const std::string& what) : std::runtime_error(what), code_(c) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

enum class CNNLossType : std::uint32_t {
  MeanAbsoluteError = 0,
  MeanSquaredError = 1,
  SoftMaxCrossEntropy = 2,
  SigmoidCrossEntropy = 3,
  CategoricalCrossEntropy = 4,
  Hinge = 5,
  Huber = 6,
  CosineDistance = 7,
  Log = 8,
  KullbackLeiblerDivergence = 9,
  Count = 10
};
enum class CNNReductionType : std::int32_t {
  None = 0,
  Sum = 1,
  Mean = 2,
  SumByNonZeroWeights = 3,
  Count = 4
};
enum class ImageFeatureChannelFormat : std::uint64_t {
  None = 0,
  Unorm8 = 1,
  Unorm16 = 2,
  Float16 = 3,
  Float32 = 4
};
enum class DataLayout : std::uint64_t {
  HeightxWidthxFeatureChannels = 0,
  FeatureChannelsxHeightxWidth = 1
};
enum class ImageEdgeMode : std::uint64_t { Zero = 0, Clamp = 1 };
enum class KernelOptions : std::uint64_t {
  None = 0,
  SkipAPIValidation = 1,
  AllowReducedPrecision = 2,
  DisableInternalTiling = 4,
  InsertDebugGroups = 8,
  Verbose = 16
};
constexpr KernelOptions operator|(KernelOptions a, KernelOptions b) {
  return static_cast<KernelOptions>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}
constexpr KernelOptions operator&(KernelOptions a, KernelOptions b) {
  return static_cast<KernelOptions>(static_cast<std::uint64_t>(a) & static_cast<std::uint64_t>(b));
}

// Apple prints gradients of Huber and Kullback-Leibler that are not derivatives of the printed
// losses. Consistent: the derivatives. AsPrinted: prediction gradients as in the text.
enum class LossFormulaPolicy { Consistent, AsPrinted };

struct Offset {
  std::int64_t x = 0, y = 0, z = 0;
  friend bool operator==(const Offset&, const Offset&) = default;
};
struct ImageReadWriteParams {
  std::size_t featureChannelOffset = 0, numberOfFeatureChannelsToReadWrite = 0;
};
inline constexpr MTL::Region RectNoClip{
    {0, 0, 0},
    {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max(),
     std::numeric_limits<std::size_t>::max()}};

}  // namespace MPS
}  // namespace bnns

#endif
