// Options whose value is one of a few names.
#ifndef APPS_OPENBNNS_CHOICE_H
#define APPS_OPENBNNS_CHOICE_H

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace program {

template <class Value>
using Names = std::vector<std::pair<std::string, Value>>;

// The value keeps its default, which the help shows, until the option is given.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option, Value& value,
                        const Names<Value>& names, const std::string& help) {
  std::string list, default_name;
  for (const auto& [name, one] : names) {
    list += (list.empty() ? "" : "|") + name;
    if (one == value) default_name = name;
  }
  const auto take = [&value, names, option, list](const std::string& text) {
    for (const auto& [name, one] : names) {
      if (name != text) continue;
      value = one;
      return;
    }
    throw CLI::ValidationError(option, "is \"" + text + "\"; it must be " + list);
  };
  return app.add_option_function<std::string>(option, take, help)
      ->type_name(list)
      ->default_str(default_name);
}

}  // namespace program

#endif
