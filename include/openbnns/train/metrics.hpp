// Figures of a network on a set of samples.
#ifndef OPENBNNS_TRAIN_METRICS_HPP
#define OPENBNNS_TRAIN_METRICS_HPP

#include <cstddef>
#include <vector>

namespace bnns::train {

struct ClassMetrics {
  std::size_t count = 0;  // samples of the class
  double precision = 0;   // of those that were taken for it, how many are; 0 if there are none
  double recall = 0;      // of its samples, how many were found; 0 if there are none
};

struct Metrics {
  std::size_t samples = 0;
  double loss = 0;  // mean

  // Classification.
  std::size_t right = 0;
  double accuracy = 0;
  std::vector<ClassMetrics> classes;
  std::vector<std::vector<std::size_t>> confusion;  // [truth][prediction]

  // Regression, over all predicted numbers.
  double mean_absolute_error = 0;
  double root_mean_square_error = 0;
  double r_squared = 0;  // 1 - residual / variance; 0 where the truth is constant
};

}  // namespace bnns::train

#endif
