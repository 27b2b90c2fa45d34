// Archives of kernels: magic, class, typed entries in any order, CRC-32. All numbers are little
// endian. One function visits the fields of a kernel, to write them and to read them back.
//   "MPSKARC1" | u16 length, class | u16 entries | entries | u32 CRC-32 of everything before
//   entry: u8 length, key | u8 type | payload; a string is u16 length, UTF-8
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

constexpr size_t kLargestArchive = size_t{64} << 10;

// Writing: takes the value. Reading: sets it.
class Fields {
 public:
  virtual ~Fields() = default;
  virtual void field(const char* key, bool& value) = 0;
  virtual void field(const char* key, uint32_t& value) = 0;
  virtual void field(const char* key, int32_t& value) = 0;
  virtual void field(const char* key, uint64_t& value) = 0;
  virtual void field(const char* key, int64_t& value) = 0;
  virtual void field(const char* key, float& value) = 0;
  virtual void field(const char* key, std::string& value) = 0;
};

using Visit = std::function<void(Fields&)>;

// InvalidArgument if a string is not UTF-8 or the archive would be too large.
std::vector<std::byte> write_archive(const char* class_name, const Visit& visit);

// CorruptArchive unless the bytes are an archive of this class with exactly the fields visited.
void read_archive(std::span<const std::byte> bytes, const char* class_name, const Visit& visit);

[[noreturn]] void fail_corrupt(const std::string& reason);

void visit_loss(Fields& fields, MPS::CNNLossDescriptor& loss);
void visit_kernel(Fields& fields, std::string& label, MPS::KernelOptions& options);
void visit_properties(Fields& fields, MPS::CNNKernelProperties& properties);
void visit_properties(Fields& fields, MPS::CNNBinaryKernelProperties& properties);

// The values of a loss kernel: what is archived, and what a copy takes over.
template <class Properties>
struct LossKernelValues {
  MPS::CNNLossDescriptor loss{MPS::CNNLossType::MeanAbsoluteError, MPS::CNNReductionType::None};
  std::optional<bool> label_gradients;  // of kernels that have them
  std::string label;
  MPS::KernelOptions options = MPS::KernelOptions::None;
  Properties properties;

  void visit(Fields& fields) {
    visit_loss(fields, loss);
    if (label_gradients) fields.field("computeLabelGradients", *label_gradients);
    visit_kernel(fields, label, options);
    visit_properties(fields, properties);
  }
  std::vector<std::byte> write(const char* class_name) {
    return write_archive(class_name, [this](Fields& fields) { visit(fields); });
  }
  void read(std::span<const std::byte> bytes, const char* class_name) {
    read_archive(bytes, class_name, [this](Fields& fields) { visit(fields); });
  }
  // A kernel with these values; Kernel has a constructor (device, descriptor).
  template <class Kernel>
  std::shared_ptr<Kernel> make(const std::shared_ptr<MTL::Device>& device) const {
    auto kernel = std::make_shared<Kernel>(device, loss);
    static_cast<Properties&>(*kernel) = properties;
    kernel->label = label;
    kernel->options = options;
    return kernel;
  }
  // The same for values that were read: a constructor's refusal means that the archive is corrupt.
  template <class Kernel>
  std::shared_ptr<Kernel> make_read(const std::shared_ptr<MTL::Device>& device) const {
    try {
      return make<Kernel>(device);
    } catch (const MPS::Error& error) {
      if (error.code() != MPS::ErrorCode::InvalidArgument) throw;
      fail_corrupt(error.what());
    }
  }
};

template <class Properties, class Kernel>
LossKernelValues<Properties> kernel_values(const Kernel& kernel,
                                           const MPS::CNNLossDescriptor& loss) {
  return {.loss = loss,
          .label_gradients = std::nullopt,
          .label = kernel.label,
          .options = kernel.options,
          .properties = kernel};
}

}  // namespace bnns::impl::mps
