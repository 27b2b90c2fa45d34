#include "train/layers/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

using Numbers = std::array<double, 2>;

std::string shown(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return '"' + *text + '"';
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return fmt::format("[{}]", fmt::join(std::get<FieldPair>(value), ", "));
}

std::string rule_text(const FieldRule& rule) {
  if (rule.type == FieldRule::Type::flag) return "true or false";
  const char* kind = rule.type == FieldRule::Type::number ? "a number"
                     : rule.type == FieldRule::Type::pair ? "a whole number or a pair of them"
                                                          : "a whole number";
  return fmt::format("{} from {} to {}", kind, rule.least, rule.most);
}

// The value as numbers, or nothing if it is not of the rule's type or outside its range.
std::optional<Numbers> numbers_of(const FieldValue& value, const FieldRule& rule) {
  if (rule.type == FieldRule::Type::flag) {
    const auto* flag = std::get_if<bool>(&value);
    return flag ? std::optional<Numbers>({double(*flag), double(*flag)}) : std::nullopt;
  }
  Numbers numbers;
  if (const auto* number = std::get_if<double>(&value)) {
    numbers = {*number, *number};
  } else if (const auto* pair = std::get_if<FieldPair>(&value);
             pair && rule.type == FieldRule::Type::pair && pair->size() == 2) {
    numbers = {(*pair)[0], (*pair)[1]};
  } else {
    return std::nullopt;
  }
  for (const double number : numbers) {
    const bool whole = rule.type == FieldRule::Type::number || number == std::floor(number);
    if (!(number >= rule.least && number <= rule.most && whole)) return std::nullopt;
  }
  return numbers;
}

}  // namespace

Fields::Fields(const LayerDescription& layer, std::span<const FieldRule> rules,
               const std::string& where)
    : where_(where) {
  for (const auto& [name, value] : layer.fields) {
    if (std::ranges::find(rules, std::string_view(name), &FieldRule::name) != rules.end()) continue;
    std::vector<std::string_view> names;
    for (const FieldRule& rule : rules) names.push_back(rule.name);
    fail(fmt::format("there is no field \"{}\"; its fields are: {}", name,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  for (const FieldRule& rule : rules) {
    const auto given = layer.fields.find(std::string(rule.name));
    if (given == layer.fields.end()) {
      if (!rule.standard) fail(fmt::format("the field \"{}\" must be given", rule.name));
      values_.push_back({rule.name, {*rule.standard, *rule.standard}});
      continue;
    }
    const auto numbers = numbers_of(given->second, rule);
    if (!numbers) {
      fail(fmt::format("\"{}\" is {}; it must be {}", rule.name, shown(given->second),
                       rule_text(rule)));
    }
    values_.push_back({rule.name, *numbers});
  }
}

const Fields::Value& Fields::find(std::string_view name) const {
  return *std::ranges::find(values_, name, &Value::name);
}

double Fields::number(std::string_view name) const {
  return find(name).numbers[0];
}

std::size_t Fields::integer(std::string_view name) const {
  return static_cast<std::size_t>(number(name));
}

std::array<std::size_t, 2> Fields::pair(std::string_view name) const {
  const auto& numbers = find(name).numbers;
  return {static_cast<std::size_t>(numbers[0]), static_cast<std::size_t>(numbers[1])};
}

void Fields::fail(const std::string& text) const {
  throw Error(Error::Kind::network, where_, text);
}

}  // namespace bnns::train::impl
