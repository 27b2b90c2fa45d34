// Parameters of layers that compute in integers: the constants of IntegerLinearSaturate and its
// per-channel form. They are checked, and copied unless the client keeps them
// (BNNSFlagsUseClientPtr).
#pragma once

#include <algorithm>

#include "core/call.h"
#include "core/error.h"
#include "core/filter.h"
#include "core/memory.h"
#include "ops/activation/integer.h"

namespace bnns::impl {

// Copies the stored values of a view without conversion and makes the view point to the copy.
inline Array<char> copy_stored(const Memory& memory, View& view) {
  Array<char> copy(memory, div_up(view.span * find_type(view.type)->bits, 8));
  std::copy_n(static_cast<const char*>(view.data), copy.size(), copy.data());
  view.data = copy.data();
  return copy;
}

class IntegerConstants {
 public:
  IntegerConstants() = default;
  IntegerConstants(const FilterOptions& options, const BNNSActivation& activation, size_t channels,
                   size_t plane)
      : single_{activation.iscale, activation.ioffset, activation.ishift},
        per_channel_(activation.function == BNNSActivationFunctionIntegerLinearSaturatePerChannel),
        channels_(per_channel_ ? channels : 1),
        plane_(plane) {
    if (!per_channel_) {
      check_shifts(&single_[2], "activation.ishift");
      return;
    }
    source_[0] = require_array(activation.iscale_per_channel, "activation.iscale_per_channel");
    source_[1] = require_array(activation.ioffset_per_channel, "activation.ioffset_per_channel");
    source_[2] = require_array(activation.ishift_per_channel, "activation.ishift_per_channel");
    check_shifts(source_[2], "activation.ishift_per_channel");
    if (options.use_client_pointer) return;
    copies_ = Array<int32_t>(options.memory, checked_mul(3, channels_, "channels"));
    for (size_t a = 0; a < 3; ++a) {
      std::copy_n(source_[a], channels_, copies_.data() + a * channels_);
      source_[a] = copies_.data() + a * channels_;
    }
  }

  // The shifts are checked at every call, because arrays of the client may have changed.
  IntegerLinear function() const {
    if (!per_channel_) return {&single_[0], &single_[1], &single_[2], 1, plane_};
    check_shifts(source_[2], "activation.ishift_per_channel");
    return {source_[0], source_[1], source_[2], channels_, plane_};
  }

 private:
  static const int32_t* require_array(const int32_t* array, const char* field) {
    require(array != nullptr, field, " is NULL; it must point to one value per channel");
    require_data(array, BNNSDataTypeInt32, field);
    return array;
  }
  void check_shifts(const int32_t* shifts, const char* field) const {
    for (size_t c = 0; c < channels_; ++c) {
      require(shifts[c] >= 0 && shifts[c] <= 63, field, " is ", shifts[c],
              "; a shift must be from 0 to 63");
    }
  }

  int32_t single_[3] = {};
  bool per_channel_ = false;
  size_t channels_ = 1;
  size_t plane_ = 1;
  const int32_t* source_[3] = {};
  Array<int32_t> copies_;
};

}  // namespace bnns::impl
