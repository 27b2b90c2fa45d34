// The checks of an encode call, one function per row of the table of validations, in its order: a
// kernel calls them one after the other, so that of several mistakes always the same is reported.
// Each goes through all batches before the next begins. Nothing is changed until all have passed.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "mps/command_buffer.h"
#include "mps/image_storage.h"

namespace bnns::impl::mps {

using MPS::ImageBatch;
using MPS::StateBatch;

// A batch of a call. Destinations are written, all others read.
struct Role {
  const char* name;
  const ImageBatch& images;
  bool destination = false;
  bool may_be_null = false;
};
using Roles = std::span<const Role>;

struct States {
  const char* name;
  const StateBatch& states;
};

struct Extent {
  size_t width, height, channels;
  friend std::ostream& operator<<(std::ostream& out, const Extent& e) {
    return out << e.width << " x " << e.height << " x " << e.channels;
  }
};
inline Extent extent_of(const MPS::Image& image) {
  const ImageStorage& storage = *Access::storage(image);
  return {storage.width(), storage.height(), storage.channels()};
}

class EncodeChecks {
 public:
  // `kernel`: the name in the texts.
  EncodeChecks(const char* kernel, const std::shared_ptr<MTL::Device>& device)
      : kernel_(kernel), device_(device) {}

  void present(Roles roles, const States& states) const;
  void not_empty(Roles roles) const;
  void same_length(Roles roles, const States& states) const;
  void covers(const Role& role, const ImageBatch& sources) const;  // width, height; channels >=
  void has_size(const Role& role, size_t index, Extent expected) const;
  void has_room(const Role& role, Extent needed) const;
  void uniform(Roles roles) const;
  void destination_formats(Roles roles) const;
  void disjoint(Roles roles) const;
  CommandBufferImpl& same_device(MTL::CommandBuffer& buffer, Roles roles,
                                 const States& states) const;
  void usable(const CommandBufferImpl& buffer, Roles roles, const States& states) const;
  // Of kernels that do not support offsets, clipping and channel ranges.
  void plain_properties(const MPS::CNNKernelProperties& properties, size_t channels) const;

  const char* kernel() const { return kernel_; }

 private:
  const char* kernel_;
  const std::shared_ptr<MTL::Device>& device_;
};

// Records the work and takes one from the read count of every distinct object that is read.
void record_and_consume(CommandBufferImpl& buffer, Work work, Roles roles,
                        const StateBatch& read_states);

}  // namespace bnns::impl::mps
