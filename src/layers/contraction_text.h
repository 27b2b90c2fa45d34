// The text of a contraction, "a_*ik, b_*kj -> c_*ij":
//   operation = operand [ "," operand ] "->" operand
//   operand   = name "_" indices             name: letters
//   indices   = [ "*" ] letters | letters [ "*" ]
// Blanks may stand anywhere. An error names the character at fault by its number, from 1 on.
#pragma once

#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

struct ContractionTerm {
  static constexpr size_t kMostName = 32;
  char name[kMostName + 1];
  size_t letters = 0;
  char letter[kMaxRank];
  size_t position[kMaxRank];  // of the letters in the text, from 1 on
  bool star_first = false, star_last = false;
  size_t star_position = 0;
  size_t begin = 0;  // the position of the name

  bool has_star() const { return star_first || star_last; }
  // The place of a letter among the letters; `letters` if it is not there.
  size_t find(char index) const;
};

struct ContractionText {
  ContractionTerm left[2], right;
  size_t operands = 0;  // on the left
};

// Checks the grammar and everything that does not need the tensors: no letter twice in an operand,
// none on the right that is not on the left, "*" at one end and on both sides, one operand named w.
ContractionText read_contraction_text(const char* operation);

}  // namespace bnns::impl
