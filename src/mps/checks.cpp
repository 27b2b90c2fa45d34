#include "mps/checks.h"

#include <algorithm>
#include <unordered_set>

#include "mps/error.h"

namespace bnns::impl::mps {
namespace {

// "name[2]"
struct Place {
  const char* name;
  size_t index;
  friend std::ostream& operator<<(std::ostream& out, const Place& p) {
    return out << p.name << '[' << p.index << ']';
  }
};

// Calls body(place, image) for every image that is there.
template <class Body>
void for_each_image(Roles roles, const Body& body) {
  for (const Role& role : roles) {
    for (size_t i = 0; i < role.images.size(); ++i) {
      if (role.images[i] != nullptr) body(Place{role.name, i}, *role.images[i]);
    }
  }
}

void require_usable(const std::optional<Temporary>& temporary, const CommandBufferImpl& buffer,
                    const char* kernel, const Place& place) {
  if (!temporary) return;
  require(temporary->buffer == buffer.id(), ErrorCode::InvalidState, kernel, ": ", place,
          " is temporary and belongs to another command buffer");
  require(temporary->read_count > 0, ErrorCode::InvalidState, kernel, ": ", place,
          " is temporary and its read count is 0");
}

}  // namespace

void EncodeChecks::present(Roles roles, const States& states) const {
  for (const Role& role : roles) {
    if (role.may_be_null) continue;
    for (size_t i = 0; i < role.images.size(); ++i)
      require(role.images[i] != nullptr, ErrorCode::InvalidArgument, kernel_, ": ",
              Place{role.name, i}, " is null");
  }
  for (size_t i = 0; i < states.states.size(); ++i)
    require(states.states[i] != nullptr, ErrorCode::InvalidArgument, kernel_, ": ",
            Place{states.name, i}, " is null");
}

void EncodeChecks::not_empty(Roles roles) const {
  for (const Role& role : roles)
    require(!role.images.empty(), ErrorCode::InvalidArgument, kernel_, ": ", role.name,
            " is an empty batch");
  for_each_image(roles, [&](const Place& place, const MPS::Image& image) {
    const size_t number = Access::storage(image)->descriptor().numberOfImages;
    require(number == 1, ErrorCode::InvalidArgument, kernel_, ": ", place, ": numberOfImages is ",
            number, "; it must be 1");
  });
}

void EncodeChecks::same_length(Roles roles, const States& states) const {
  const size_t expected = roles[0].images.size();
  for (const Role& role : roles)
    require(role.images.size() == expected, ErrorCode::ShapeMismatch, kernel_, ": ", role.name,
            " has ", role.images.size(), " images, ", roles[0].name, " has ", expected);
  require(states.states.empty() || states.states.size() == expected, ErrorCode::ShapeMismatch,
          kernel_, ": ", states.name, " has ", states.states.size(), " states for ", expected,
          " images");
}

void EncodeChecks::covers(const Role& role, const ImageBatch& sources) const {
  for (size_t i = 0; i < role.images.size(); ++i) {
    if (role.images[i] == nullptr) continue;
    const Extent is = extent_of(*role.images[i]), source = extent_of(*sources[i]);
    require(is.width == source.width, ErrorCode::ShapeMismatch, kernel_, ": ", Place{role.name, i},
            ": width ", is.width, ", expected ", source.width);
    require(is.height == source.height, ErrorCode::ShapeMismatch, kernel_, ": ",
            Place{role.name, i}, ": height ", is.height, ", expected ", source.height);
    require(is.channels >= source.channels, ErrorCode::ShapeMismatch, kernel_, ": ",
            Place{role.name, i}, ": featureChannels ", is.channels, ", expected at least ",
            source.channels);
  }
}

void EncodeChecks::has_size(const Role& role, size_t index, Extent expected) const {
  const Extent is = extent_of(*role.images[index]);
  require(is.width == expected.width && is.height == expected.height &&
              is.channels == expected.channels,
          ErrorCode::ShapeMismatch, kernel_, ": ", Place{role.name, index}, ": size ", is,
          ", expected ", expected);
}

void EncodeChecks::has_room(const Role& role, Extent needed) const {
  for (size_t i = 0; i < role.images.size(); ++i) {
    const Extent is = extent_of(*role.images[i]);
    require(
        is.width >= needed.width && is.height >= needed.height && is.channels >= needed.channels,
        ErrorCode::ShapeMismatch, kernel_, ": ", Place{role.name, i}, ": size ", is,
        ", expected at least ", needed);
  }
}

void EncodeChecks::uniform(Roles roles) const {
  for (const Role& role : roles) {
    const MPS::Image* first = nullptr;
    for (size_t i = 0; i < role.images.size(); ++i) {
      const MPS::Image* image = role.images[i].get();
      if (image == nullptr) continue;
      if (first == nullptr) first = image;
      const Extent is = extent_of(*image), expected = extent_of(*first);
      require(is.width == expected.width && is.height == expected.height &&
                  is.channels == expected.channels,
              ErrorCode::ShapeMismatch, kernel_, ": ", Place{role.name, i}, ": size ", is,
              ", but the batch has ", expected);
      const FormatInfo &format = Access::storage(*image)->format(),
                       &of_first = Access::storage(*first)->format();
      require(&format == &of_first, ErrorCode::ShapeMismatch, kernel_, ": ", Place{role.name, i},
              ": format ", format.name, ", but the batch has ", of_first.name);
    }
  }
}

void EncodeChecks::destination_formats(Roles roles) const {
  for (const Role& role : roles) {
    if (!role.destination) continue;
    for_each_image({&role, 1}, [&](const Place& place, const MPS::Image& image) {
      const auto format = image.featureChannelFormat();
      require(format == MPS::ImageFeatureChannelFormat::Float16 ||
                  format == MPS::ImageFeatureChannelFormat::Float32,
              ErrorCode::InvalidArgument, kernel_, ": ", place, ": format ",
              Access::storage(image)->format().name, "; it must be Float16 or Float32");
    });
  }
}

void EncodeChecks::disjoint(Roles roles) const {
  std::vector<const ImageStorage*> read, written;
  for (const Role& role : roles) {
    for (const auto& image : role.images) {
      if (image != nullptr)
        (role.destination ? written : read).push_back(Access::storage(*image).get());
    }
  }
  std::sort(read.begin(), read.end());
  std::sort(written.begin(), written.end());
  const bool repeated = std::adjacent_find(written.begin(), written.end()) != written.end();
  std::unordered_set<const ImageStorage*> seen;
  for (const Role& role : roles) {
    if (!role.destination) continue;
    for_each_image({&role, 1}, [&](const Place& place, const MPS::Image& image) {
      const ImageStorage* storage = Access::storage(image).get();
      require(!std::binary_search(read.begin(), read.end(), storage), ErrorCode::Aliasing, kernel_,
              ": ", place, " is also a source");
      require(!repeated || seen.insert(storage).second, ErrorCode::Aliasing, kernel_, ": ", place,
              " is a destination twice");
    });
  }
}

CommandBufferImpl& EncodeChecks::same_device(MTL::CommandBuffer& buffer, Roles roles,
                                             const States& states) const {
  for_each_image(roles, [&](const Place& place, const MPS::Image& image) {
    require(Access::storage(image)->device().get() == device_.get(), ErrorCode::DeviceMismatch,
            kernel_, ": ", place, " belongs to another device");
  });
  for (size_t i = 0; i < states.states.size(); ++i)
    require(Access::storage(*states.states[i]).device() == device_, ErrorCode::DeviceMismatch,
            kernel_, ": ", Place{states.name, i}, " belongs to another device");
  return impl_of(buffer, *device_, kernel_);
}

void EncodeChecks::usable(const CommandBufferImpl& buffer, Roles roles,
                          const States& states) const {
  require(!buffer.committed(), ErrorCode::InvalidState, kernel_,
          ": the command buffer is already committed");
  for_each_image(roles, [&](const Place& place, const MPS::Image& image) {
    require_usable(Access::storage(image)->temporary, buffer, kernel_, place);
  });
  for (size_t i = 0; i < states.states.size(); ++i)
    require_usable(Access::storage(*states.states[i]).temporary, buffer, kernel_,
                   Place{states.name, i});
}

void EncodeChecks::plain_properties(const MPS::CNNKernelProperties& p, size_t channels) const {
  const struct {
    const char* name;
    size_t value;
  } offsets[] = {{"destinationFeatureChannelOffset", p.destinationFeatureChannelOffset},
                 {"sourceFeatureChannelOffset", p.sourceFeatureChannelOffset}};
  for (const auto& [name, value] : offsets)
    require(value % 4 == 0, ErrorCode::InvalidArgument, kernel_, ": ", name, " is ", value,
            "; it must be a multiple of 4");
  require(p.sourceFeatureChannelOffset < channels, ErrorCode::InvalidArgument, kernel_,
          ": sourceFeatureChannelOffset is ", p.sourceFeatureChannelOffset, " of ", channels,
          " channels");
  require(p.sourceFeatureChannelMaxCount > 0, ErrorCode::InvalidArgument, kernel_,
          ": sourceFeatureChannelMaxCount is 0");
  require(p.edgeMode == MPS::ImageEdgeMode::Zero || p.edgeMode == MPS::ImageEdgeMode::Clamp,
          ErrorCode::InvalidArgument, kernel_, ": edgeMode is ", static_cast<uint64_t>(p.edgeMode),
          "; it must be Zero or Clamp");
  for (const auto& [name, value] : offsets)
    require(value == 0, ErrorCode::Unsupported, kernel_, ": ", name, " is ", value,
            "; this kernel has no channel offsets");
  require(p.sourceFeatureChannelMaxCount >= channels, ErrorCode::Unsupported, kernel_,
          ": sourceFeatureChannelMaxCount is ", p.sourceFeatureChannelMaxCount, " of ", channels,
          " channels; this kernel reads all channels");
  require(p.offset == MPS::Offset{}, ErrorCode::Unsupported, kernel_,
          ": offset is not 0; this kernel has no offset");
  require(p.clipRect == MPS::RectNoClip, ErrorCode::Unsupported, kernel_,
          ": clipRect is not RectNoClip; this kernel does not clip");
}

void record_and_consume(CommandBufferImpl& buffer, Work work, Roles roles,
                        const StateBatch& read_states) {
  std::vector<StoragePtr> images, cleared;
  size_t count = 0;
  for (const Role& role : roles) count += role.images.size();
  images.reserve(count);
  std::unordered_set<Temporary*> read;
  std::vector<Temporary*> emptied;
  for (const Role& role : roles) {
    for (const auto& image : role.images) {
      if (image == nullptr) continue;
      const StoragePtr& storage = Access::storage(*image);
      images.push_back(storage);
      if (storage->has_old_values()) {
        if (!role.destination || !overwrites(work, *storage)) cleared.push_back(storage);
        emptied.push_back(&*storage->temporary);
      }
      if (!role.destination && storage->temporary) read.insert(&*storage->temporary);
    }
  }
  for (const auto& state : read_states) {
    auto& temporary = Access::storage(*state).temporary;
    if (temporary) read.insert(&*temporary);
  }
  buffer.record(std::move(work), std::move(images), std::move(cleared));
  for (Temporary* temporary : emptied) temporary->piece.used = false;
  for (Temporary* temporary : read) temporary->set_read_count(temporary->read_count - 1);
}

}  // namespace bnns::impl::mps
