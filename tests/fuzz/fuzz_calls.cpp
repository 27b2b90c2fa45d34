// Sequences of calls on a few filters: made, applied, reserved, asked for pointers, destroyed, used
// afterwards; handles that never were any; targets and default threads changed in between.
#include <optional>
#include <string>
#include <vector>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr size_t kSize = 24;  // values of every vector here
constexpr size_t kSlots = 4;  // filters at a time
constexpr size_t kMaxCalls = 64;

class Session {
 public:
  explicit Session(Provider& p) : p_(p) {
    const Model vector = model_of(vector_of(kSize));
    for (size_t t = 0; t < 4; ++t) memory_.add(vector, {});
    BNNSNDArrayDescriptor matrix = vector_of(kSize);
    matrix.layout = BNNSDataLayoutRowMajorMatrix;
    matrix.size[1] = kSize;
    memory_.add(model_of(matrix), {});
    memory_.allocate(p.number<uint16_t>());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    for (const Slot& slot : slots_) {
      if (slot.live) BNNSFilterDestroy(slot.filter);
    }
    Hooks::expect_no_leak();
    OpenBNNSSetTarget(nullptr);
    OpenBNNSSetDefaultThreads(0);
  }

  void call();

 private:
  struct Slot {
    BNNSFilter filter = nullptr;
    bool live = false;
    bool activation = false;
  };
  // A handle a call is given, and whether it is one.
  struct Handle {
    BNNSFilter filter = nullptr;
    bool live = false;
    size_t slot = kSlots;
  };

  Handle choose();
  void create();
  void destroy();
  void apply();
  void backward();
  void pointer();
  void reserve();
  void set_target();
  void set_threads();
  void wrong_kind();

  float* vector(size_t t) { return reinterpret_cast<float*>(memory_.data(t)); }
  // Status of a call that must fail when the handle is dead.
  void done(const Watch& watch, const char* function, const Handle& handle, bool success) {
    watch.done(success);
    expect(handle.live || !success, function, "a dead handle was accepted");
  }

  Provider& p_;
  Memory memory_;
  Slot slots_[kSlots];
  std::vector<BNNSFilter> dead_;
};

Session::Handle Session::choose() {
  const size_t kind = p_.below(16);
  if (kind < 12) {
    const size_t slot = p_.below(kSlots);
    return {.filter = slots_[slot].filter, .live = slots_[slot].live, .slot = slot};
  }
  if (kind == 12 && !dead_.empty()) return {.filter = dead_[p_.below(dead_.size())]};
  char* near = static_cast<char*>(slots_[p_.below(kSlots)].filter);
  if (kind == 13 && near != nullptr) {
    // Beside a handle: another slot of the table, or another generation of this one.
    static constexpr ptrdiff_t kSteps[] = {1, -1, 8, 63, 64, -64, 65, 4096, 1 << 24, -(1 << 24)};
    char* moved = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(near) +
                                          static_cast<uintptr_t>(p_.pick(kSteps)));
    for (const Slot& slot : slots_) {
      if (slot.live && slot.filter == moved) return {};
    }
    return {.filter = moved};
  }
  if (kind == 14) return {.filter = vector(0)};
  return {.filter = reinterpret_cast<BNNSFilter>(p_.odd_size())};
}

void Session::create() {
  Slot& slot = slots_[p_.below(kSlots)];
  if (slot.live) return;
  if (slot.filter != nullptr) dead_.push_back(slot.filter);
  BNNSFilterParameters f = filter_parameters(p_);
  if (p_.one_in(20)) Hooks::fail_at(p_.between(1, 4));
  slot.activation = p_.one_in(2);
  if (slot.activation) {
    BNNSLayerParametersActivation layer = {};
    layer.i_desc = vector_of(kSize);
    layer.o_desc = vector_of(kSize);
    layer.activation = activation(p_);
    const Watch watch("BNNSFilterCreateLayerActivation");
    slot.filter = BNNSFilterCreateLayerActivation(&layer, p_.one_in(10) ? nullptr : &f);
    watch.done(slot.filter != nullptr);
  } else {
    BNNSLayerParametersFullyConnected layer = {};
    layer.i_desc = vector_of(kSize);
    layer.o_desc = vector_of(kSize);
    layer.w_desc = vector_of(kSize);
    layer.w_desc.layout = BNNSDataLayoutRowMajorMatrix;
    layer.w_desc.size[1] = kSize;
    layer.w_desc.data = memory_.data(4);
    layer.activation = activation(p_);
    const Watch watch("BNNSFilterCreateLayerFullyConnected");
    slot.filter = BNNSFilterCreateLayerFullyConnected(&layer, p_.one_in(10) ? nullptr : &f);
    watch.done(slot.filter != nullptr);
  }
  Hooks::disarm();
  slot.live = slot.filter != nullptr;
  for (const Slot& other : slots_) {
    expect(&other == &slot || !slot.live || !other.live || other.filter != slot.filter,
           "BNNSFilterCreate", "two live filters have one handle");
  }
}

void Session::destroy() {
  const Handle h = choose();
  const Watch watch("BNNSFilterDestroy");
  BNNSFilterDestroy(h.filter);
  // NULL is fine, anything else that is no live filter is not.
  watch.done(h.live || h.filter == nullptr);
  if (h.live) slots_[h.slot].live = false;
}

void Session::apply() {
  const Handle h = choose();
  const char* function = "BNNSFilterApply";
  const Watch watch(function);
  const bool success = BNNSFilterApply(h.filter, vector(0), vector(1)) == 0;
  done(watch, function, h, success);
  if (!success) memory_.expect_untouched(function);
  memory_.expect_only(Memory::bit(1), function);
  memory_.accept();
}

void Session::backward() {
  const Handle h = choose();
  const char* function = "BNNSFilterApplyBackwardBatch";
  BNNSNDArrayDescriptor dy = vector_of(kSize), dx = vector_of(kSize);
  dy.data = vector(2);
  dx.data = vector(3);
  const Watch watch(function);
  const bool success = BNNSFilterApplyBackwardBatch(h.filter, 1, vector(0), 0, &dx, 0, vector(1), 0,
                                                    &dy, 0, nullptr, nullptr) == 0;
  done(watch, function, h, success);
  if (!success) memory_.expect_untouched(function);
  memory_.expect_only(Memory::bit(3), function);
  memory_.accept();
}

void Session::pointer() {
  const Handle h = choose();
  const auto target = static_cast<BNNSPointerSpecifier>(p_.one_in(8) ? p_.byte() : p_.below(2));
  const float value = p_.scalar();
  const Watch watch("BNNSGetPointer");
  const BNNSNDArrayDescriptor d = BNNSGetPointer(h.filter, target);
  done(watch, "BNNSGetPointer", h, d.data != nullptr);
  if (d.data != nullptr) *static_cast<float*>(d.data) = value;
}

void Session::reserve() {
  const Handle h = choose();
  const size_t batch = p_.one_in(3) ? p_.odd_size() : p_.extent();
  const size_t callers = p_.one_in(3) ? p_.odd_size() : p_.between(1, 33);
  if (p_.one_in(8)) Hooks::fail_at(p_.between(1, 4));
  const Watch watch("OpenBNNSFilterReserve");
  done(watch, "OpenBNNSFilterReserve", h, OpenBNNSFilterReserve(h.filter, batch, callers) == 0);
  Hooks::disarm();
}

void Session::set_target() {
  std::string name;
  if (p_.one_in(2)) {
    const char* const* names = OpenBNNSGetSupportedTargets();
    size_t count = 0;
    while (names[count] != nullptr) ++count;
    name = names[p_.below(count)];
  } else {
    const size_t length = p_.one_in(8) ? 700 : p_.below(12);
    for (size_t i = 0; i < length; ++i) name += static_cast<char>(p_.byte());
  }
  const Watch watch("OpenBNNSSetTarget");
  watch.done(OpenBNNSSetTarget(p_.one_in(10) ? nullptr : name.c_str()) == 0);
  expect(is_plain(OpenBNNSGetTarget()), "OpenBNNSGetTarget", "is not plain text");
}

void Session::set_threads() {
  const size_t threads = p_.one_in(3) ? p_.odd_size() : p_.below(5);
  const Watch watch("OpenBNNSSetDefaultThreads");
  watch.done(OpenBNNSSetDefaultThreads(threads) == 0);
  expect(OpenBNNSGetDefaultThreads() >= 1, "OpenBNNSGetDefaultThreads", "is 0");
}

// Calls for other kinds of filters; none of them may touch this one.
void Session::wrong_kind() {
  const Handle h = choose();
  const char* function = "BNNSFilterApplyTwoInput";
  const Watch watch(function);
  const bool success = BNNSFilterApplyTwoInput(h.filter, vector(0), vector(1), vector(2)) == 0;
  watch.done(success);
  expect(!success, function, "a filter of one input accepts two");
  memory_.expect_untouched(function);
}

void Session::call() {
  switch (p_.below(16)) {
    case 0:
    case 1:
    case 2:
      create();
      break;
    case 3:
    case 4:
      destroy();
      break;
    case 5:
    case 6:
    case 7:
    case 8:
      apply();
      break;
    case 9:
    case 10:
    case 11:
      backward();
      break;
    case 12:
      pointer();
      break;
    case 13:
      reserve();
      break;
    case 14:
      p_.one_in(2) ? set_target() : set_threads();
      break;
    default:
      wrong_kind();
      break;
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::Session session(provider);
  for (size_t i = 0; i < fuzz::kMaxCalls && !provider.empty(); ++i) session.call();
  return 0;
}
