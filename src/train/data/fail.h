// Errors of the readers: where, what was found, which rule.
#ifndef OPENBNNS_TRAIN_DATA_FAIL_H
#define OPENBNNS_TRAIN_DATA_FAIL_H

#include <fmt/format.h>

#include <string>
#include <utility>

#include "openbnns/train/error.hpp"
#include "train/files/text.h"

namespace bnns::train::impl {

template <class... Arguments>
[[noreturn]] void fail(Error::Kind kind, const std::string& where,
                       fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Error(kind, where, fmt::format(text, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
[[noreturn]] void fail_data(const std::string& where, fmt::format_string<Arguments...> text,
                            Arguments&&... arguments) {
  throw Error(Error::Kind::data, where, fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace bnns::train::impl

#endif
