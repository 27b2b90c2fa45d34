// Contractions of tensors: texts of every kind, right and damaged, with tensors that fit them.
#include <cctype>
#include <iterator>
#include <map>
#include <string>

#include "two_inputs.h"

namespace fuzz {
namespace {

struct Case : TwoInputs {
  explicit Case(Provider& p);
  std::string text;
  BNNSLayerParametersTensorContraction layer = {};
};

constexpr const char* kTexts[][3] = {
    {"ik", "kj", "ij"},   {"ki", "jk", "ji"},     {"bik", "bkj", "bij"}, {"bik", "kj", "ijb"},
    {"ij", "ij", "ij"},   {"ij", "ij", "i"},      {"i", "j", "ij"},      {"i", "i", ""},
    {"ijm", "jkn", "ik"}, {"ijkl", "lkm", "mij"}, {"*ik", "*kj", "*ij"}, {"ik*", "kj*", "ij*"},
    {"*i", "i", "*"},     {"ij", "", "ji"},       {"ijk", "", "j"},      {"*ij", "", "*ji"},
    {"ijk", "k", "ji"},   {"ij", "k", "k"},       {"kli", "lkj", "ij"},  {"*", "*", "*"}};

Case::Case(Provider& p) : TwoInputs(p) {
  const auto& indices = kTexts[p.below(std::size(kTexts))];
  const bool single = std::string(indices[1]).empty();
  static constexpr const char* kNames[] = {"a", "b", "w", "x", "input"};
  const std::string first = p.pick(kNames);
  const std::string second = single ? "" : p.pick(kNames);
  text = first + "_" + indices[0] + (single ? "" : ", " + second + "_" + indices[1]) + " -> o_" +
         indices[2];
  const bool same = !single && first == second;
  roles = single || same  ? Roles::kOne
          : first == "w"  ? Roles::kAWeights
          : second == "w" ? Roles::kBWeights
                          : Roles::kTwo;
  std::map<char, size_t> extent;
  const size_t stars = p.below(3);
  const size_t star[] = {p.between(1, 3), p.between(1, 4)};
  const auto tensor = [&](const char* letters, bool may_be_one) {
    std::vector<size_t> size;
    for (const char* c = letters; *c != '\0'; ++c) {
      if (*c == '*') {
        for (size_t i = 0; i < stars; ++i) size.push_back(star[i]);
        continue;
      }
      if (!extent.contains(*c)) extent[*c] = p.between(1, 12);
      size.push_back(may_be_one && p.one_in(12) ? 1 : extent[*c]);
    }
    if (size.empty()) size.push_back(1);
    if (size.size() == 1 && p.one_in(2)) return tensor_of(p, BNNSDataLayoutVector, size);
    return coordinates_of(p, size);
  };
  operand[0] = tensor(indices[0], true);
  operand[1] = tensor(indices[1], true);
  out = tensor(indices[2], false);
  if (p.one_in(30)) operand[p.below(2)] = descriptor(p, 20);
  if (p.one_in(30)) out = descriptor(p, 20);
  // Damages of the text.
  if (p.one_in(4)) {
    static constexpr char kCharacters[] = "ijkw_*,-> ab1\t\x80\n";
    const size_t at = p.below(text.size());
    const char c = kCharacters[p.below(sizeof kCharacters - 1)];
    switch (p.below(3)) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      default:
        text.erase(at, 1);
    }
  }
  layer.alpha = p.one_in(4) ? p.scalar() : 0.5f;
  layer.beta = p.one_in(20) ? p.scalar() : static_cast<float>(p.below(2));
  accumulates = layer.beta == 1;
  place_tensors(p);
  layer.operation = text.c_str();
  layer.iA_desc = operand[0];
  layer.iB_desc = operand[1];
  layer.o_desc = out;
}

void one_case(Provider& p) {
  Case c(p);
  const std::string text = c.text;
  if (p.one_in(100)) c.layer.operation = nullptr;
  const char* function = "BNNSFilterCreateLayerTensorContraction";
  const Pair filters(function, p, c.filter, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateLayerTensorContraction(&c.layer, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  // What the operands of a damaged text are follows from the text alone.
  const size_t comma = text.find(',');
  const auto name_at = [&](size_t from) {
    std::string name;
    for (size_t i = from; text[i] != '_'; ++i)
      if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) name += text[i];
    return name;
  };
  const std::string first = name_at(0), second = comma == text.npos ? "" : name_at(comma + 1);
  const Roles roles = comma == text.npos || first == second ? Roles::kOne
                      : first == "w"                        ? Roles::kAWeights
                      : second == "w"                       ? Roles::kBWeights
                                                            : Roles::kTwo;
  // The tensors were placed for others.
  if (roles != c.roles) return;
  c.check_descriptors(function, c.layer.alpha, c.layer.beta);
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { backward(p, c, filters); });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}
