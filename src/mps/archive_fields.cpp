// The entries of the kernels, in the order in which they are written.
#include "mps/archive.h"
#include "mps/error.h"

namespace bnns::impl::mps {
namespace {

// A value that is archived as another type: an enumeration, or std::size_t.
template <class Stored, class Value>
void field_as(Fields& fields, const char* key, Value& value) {
  auto stored = static_cast<Stored>(value);
  fields.field(key, stored);
  value = static_cast<Value>(stored);
}

void field_size(Fields& fields, const std::string& key, std::size_t& value) {
  field_as<uint64_t>(fields, key.c_str(), value);
}

void visit_offset(Fields& fields, const std::string& key, MPS::Offset& offset) {
  fields.field((key + ".x").c_str(), offset.x);
  fields.field((key + ".y").c_str(), offset.y);
  fields.field((key + ".z").c_str(), offset.z);
}

void visit_clip(Fields& fields, MTL::Region& clip) {
  field_size(fields, "clipRect.x", clip.origin.x);
  field_size(fields, "clipRect.y", clip.origin.y);
  field_size(fields, "clipRect.z", clip.origin.z);
  field_size(fields, "clipRect.width", clip.size.width);
  field_size(fields, "clipRect.height", clip.size.height);
  field_size(fields, "clipRect.depth", clip.size.depth);
}

// The two standard allocators have names; others cannot be archived.
void visit_allocator(Fields& fields, std::shared_ptr<MPS::ImageAllocator>& allocator) {
  const auto images = MPS::ImageAllocator::images();
  const auto temporary = MPS::ImageAllocator::temporaryImages();
  require(allocator == images || allocator == temporary, ErrorCode::Unsupported,
          "Kernel::encode: destinationImageAllocator is not one of the standard allocators");
  std::string name = allocator == images ? "image" : "temporary";
  fields.field("allocator", name);
  if (name != "image" && name != "temporary") fail_corrupt("its allocator is unknown");
  allocator = name == "image" ? images : temporary;
}

}  // namespace

void visit_loss(Fields& fields, MPS::CNNLossDescriptor& loss) {
  field_as<uint32_t>(fields, "lossType", loss.lossType);
  field_as<int32_t>(fields, "reductionType", loss.reductionType);
  fields.field("reduceAcrossBatch", loss.reduceAcrossBatch);
  field_size(fields, "numberOfClasses", loss.numberOfClasses);
  fields.field("weight", loss.weight);
  fields.field("labelSmoothing", loss.labelSmoothing);
  fields.field("epsilon", loss.epsilon);
  fields.field("delta", loss.delta);
}

void visit_kernel(Fields& fields, std::string& label, MPS::KernelOptions& options) {
  fields.field("label", label);
  field_as<uint64_t>(fields, "options", options);
}

void visit_properties(Fields& fields, MPS::CNNKernelProperties& p) {
  visit_offset(fields, "offset", p.offset);
  visit_clip(fields, p.clipRect);
  field_size(fields, "destinationFeatureChannelOffset", p.destinationFeatureChannelOffset);
  field_size(fields, "sourceFeatureChannelOffset", p.sourceFeatureChannelOffset);
  field_size(fields, "sourceFeatureChannelMaxCount", p.sourceFeatureChannelMaxCount);
  field_as<uint64_t>(fields, "edgeMode", p.edgeMode);
  visit_allocator(fields, p.destinationImageAllocator);
}

void visit_properties(Fields& fields, MPS::CNNBinaryKernelProperties& p) {
  require(p.primaryStrideInPixelsX == 1 && p.primaryStrideInPixelsY == 1 &&
              p.secondaryStrideInPixelsX == 1 && p.secondaryStrideInPixelsY == 1,
          ErrorCode::Unsupported, "Kernel::encode: a stride is not 1; archives have no strides");
  visit_offset(fields, "primaryOffset", p.primaryOffset);
  visit_offset(fields, "secondaryOffset", p.secondaryOffset);
  visit_clip(fields, p.clipRect);
  field_size(fields, "destinationFeatureChannelOffset", p.destinationFeatureChannelOffset);
  field_size(fields, "primarySourceFeatureChannelOffset", p.primarySourceFeatureChannelOffset);
  field_size(fields, "secondarySourceFeatureChannelOffset", p.secondarySourceFeatureChannelOffset);
  field_size(fields, "primarySourceFeatureChannelMaxCount", p.primarySourceFeatureChannelMaxCount);
  field_size(fields, "secondarySourceFeatureChannelMaxCount",
             p.secondarySourceFeatureChannelMaxCount);
  field_as<uint64_t>(fields, "primaryEdgeMode", p.primaryEdgeMode);
  field_as<uint64_t>(fields, "secondaryEdgeMode", p.secondaryEdgeMode);
  visit_allocator(fields, p.destinationImageAllocator);
}

}  // namespace bnns::impl::mps
