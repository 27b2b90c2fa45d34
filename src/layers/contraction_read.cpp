// BNNSLayerParametersTensorContraction -> ContractionParameters: every index of the text with its
// size, and the axis of each tensor that it runs along.
#include <algorithm>
#include <cstring>
#include <limits>

#include "layers/contraction.h"
#include "layers/contraction_text.h"

namespace bnns::impl {
namespace {

// The coordinates of a tensor by the names that the text gives them.
class NamedTensor {
 public:
  NamedTensor(const ContractionTerm& term, const Descriptor& d, const char* field)
      : term_(term), d_(d), field_(field) {
    const size_t letters = term.letters;
    const bool scalar = letters == 0 && !term.has_star() && d.view.count == 1;
    const bool fits = term.has_star() ? d.rank() >= letters : d.rank() == letters;
    require(scalar || fits, "operation, character ", term.begin, ": ", term.name, " has ", letters,
            letters == 1 ? " index" : " indices", term.has_star() ? " besides '*', " : ", ", field,
            " is ", describe(d), " with ", d.rank());
    stars_ = term.has_star() ? d.rank() - letters : 0;
  }

  const ContractionTerm& term() const { return term_; }
  const char* field() const { return field_; }
  const Descriptor& descriptor() const { return d_; }
  size_t stars() const { return stars_; }

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  size_t of_letter(char letter) const {
    const size_t i = term_.find(letter);
    if (i == term_.letters) return kNone;
    return i + (term_.star_first ? stars_ : 0);
  }
  // Indices of "*" are matched from the last on.
  size_t of_star(size_t from_last) const {
    if (from_last >= stars_) return kNone;
    return (term_.star_first ? 0 : term_.letters) + stars_ - 1 - from_last;
  }
  size_t extent(size_t coordinate) const {
    return coordinate == kNone ? 1 : d_.logical_extent(coordinate);
  }
  uint8_t axis(size_t coordinate) const {
    if (extent(coordinate) == 1) return ContractionIndex::kNoAxis;
    return view_axis(*d_.layout, coordinate);
  }

 private:
  const ContractionTerm& term_;
  const Descriptor& d_;
  const char* field_;
  size_t stars_ = 0;
};

// One index: its sizes must be equal or 1, and the result must not be smaller than an operand.
// `coordinate` has those of A, B and the result.
void add_index(ContractionParameters& p, const NamedTensor* const (&tensors)[kContractionTensors],
               const size_t (&coordinate)[kContractionTensors], const Text& name) {
  ContractionIndex& index = p.index[p.indices++];
  const NamedTensor* largest = tensors[kLeft];
  index.extent = 1;
  for (size_t t = 0; t < kContractionTensors; ++t) {
    if (tensors[t] == nullptr) continue;
    index.axis[t] = tensors[t]->axis(coordinate[t]);
    const size_t extent = tensors[t]->extent(coordinate[t]);
    if (extent > index.extent) {
      index.extent = extent;
      largest = tensors[t];
    }
  }
  for (size_t t = 0; t < kContractionTensors; ++t) {
    if (tensors[t] == nullptr) continue;
    const size_t extent = tensors[t]->extent(coordinate[t]);
    const bool result = t == kResult && coordinate[t] != NamedTensor::kNone;
    if (extent == index.extent || (extent == 1 && !result)) continue;
    fail(name, " is ", extent, " in ", tensors[t]->field(), ", which is ",
         describe(tensors[t]->descriptor()), ", and ", index.extent, " in ", largest->field(),
         ", which is ", describe(largest->descriptor()),
         result ? "; the result must be as large" : "; they must be equal, or one must be 1");
  }
}

void read_indices(ContractionParameters& p, const ContractionText& text) {
  const bool two = text.operands == 2;
  const NamedTensor a(text.left[0], p.tensor[kLeft], "iA_desc");
  const bool same = p.b_source == ContractionSource::kSame;
  const NamedTensor b(text.left[two ? 1 : 0], p.descriptor(kRight), same ? "iA_desc" : "iB_desc");
  const NamedTensor out(text.right, p.tensor[kResult], "o_desc");
  const NamedTensor* const tensors[] = {&a, two ? &b : nullptr, &out};
  p.indices = 0;
  const auto add_letters = [&](const ContractionTerm& term, const ContractionTerm* but) {
    for (size_t i = 0; i < term.letters; ++i) {
      const char letter = term.letter[i];
      if (but != nullptr && but->find(letter) < but->letters) continue;
      add_index(p, tensors,
                {a.of_letter(letter), two ? b.of_letter(letter) : NamedTensor::kNone,
                 out.of_letter(letter)},
                Text("operation, character ", term.position[i], ": index ", letter));
    }
  };
  add_letters(text.left[0], nullptr);
  if (two) add_letters(text.left[1], &text.left[0]);
  const size_t stars = std::max({a.stars(), two ? b.stars() : 0, out.stars()});
  for (size_t i = 0; i < stars; ++i) {
    const Text name("operation: index ", i + 1, " from the last of '*'");
    const size_t at[] = {a.of_star(i), two ? b.of_star(i) : NamedTensor::kNone, out.of_star(i)};
    // An index that the result does not have would be summed.
    const size_t in = std::max(a.extent(at[kLeft]), two ? b.extent(at[kRight]) : 1);
    require(at[kResult] != NamedTensor::kNone || in == 1, name, " is ", in,
            " on the left and missing in o_desc, which is ", describe(p.tensor[kResult]),
            "; '*' is never summed");
    add_index(p, tensors, at, name);
  }
}

ContractionParameters read_contraction(const BNNSLayerParametersTensorContraction* p) {
  require(p != nullptr, "layer_params is NULL");
  const ContractionText text = read_contraction_text(p->operation);
  check_contraction_scalars(p->alpha, p->beta);
  const auto is_weights = [](const ContractionTerm& t) { return std::strcmp(t.name, "w") == 0; };
  ContractionParameters c;
  c.kind = "a tensor contraction filter";
  c.alpha = p->alpha;
  c.accumulate = p->beta == 1;
  c.a_is_weights = is_weights(text.left[0]);
  if (text.operands == 1)
    c.b_source = ContractionSource::kNothing;
  else if (std::strcmp(text.left[0].name, text.left[1].name) == 0)
    c.b_source = ContractionSource::kSame;
  else if (is_weights(text.left[1]))
    c.b_source = ContractionSource::kWeights;
  c.tensor[kLeft] = read_contraction_tensor(p->iA_desc, "iA_desc", Use::kInput, 1);
  if (c.has(kRight))
    c.tensor[kRight] = read_contraction_tensor(p->iB_desc, "iB_desc", Use::kInput, 1);
  c.tensor[kResult] = read_contraction_tensor(p->o_desc, "o_desc", Use::kOutput, 1);
  read_indices(c, text);
  return c;
}

}  // namespace

BNNSFilter make_tensor_contraction_filter(const BNNSLayerParametersTensorContraction* parameters,
                                          const BNNSFilterParameters* filter_parameters) {
  return make_contraction_filter(FilterOptions(filter_parameters), read_contraction(parameters));
}

}  // namespace bnns::impl
