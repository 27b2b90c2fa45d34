// The headers seen by a C++ compiler, where every enumeration is a type of its own.
#include "layout.h"

#include <cstdint>
#include <type_traits>

static_assert(std::is_enum_v<BNNSDataLayout>);
static_assert(std::is_same_v<std::underlying_type_t<BNNSDataLayout>, std::uint32_t>);
static_assert(!std::is_same_v<BNNSDataLayout, BNNSDataType>);

// Values without a name are legal.
static_assert(static_cast<BNNSDataLayout>((4u << 16) | 0x8001u) == BNNSDataLayout4DFirstMajor);
static_assert(static_cast<std::uint32_t>(BNNSNDArrayFlags(0xffffffffu)) == 0xffffffffu);
