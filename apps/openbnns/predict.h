// The likeliest classes of a sample.
#ifndef APPS_OPENBNNS_PREDICT_H
#define APPS_OPENBNNS_PREDICT_H

#include <cstddef>
#include <span>
#include <vector>

namespace program {

struct Ranked {
  std::size_t index = 0;
  float probability = 0;
};

// At most `count`, the likeliest first; of equal ones the first class first.
std::vector<Ranked> best_classes(std::span<const float> probabilities, std::size_t count);

}  // namespace program

#endif
