// What the machine can do at best: fp32 FMA rate and memory bandwidth, both with the widest vectors
// the CPU has (chosen at run time by its feature flags).
#pragma once

#include <string>
#include <vector>

namespace bench {

double now();  // seconds of a steady clock

std::string cpu_name();
int vector_bits();

// GFLOP/s of all threads together, each on its own core.
double fma_gflops(int threads, double seconds);

// GB/s by the total size of all arrays, measured once. "read" only loads; "triad" is c = a + s * b
// and counts these three arrays, not the lines of c that a cache fetches before a write.
class Bandwidth {
 public:
  struct Point {
    double bytes, read, triad;
  };
  explicit Bandwidth(int threads);
  // `write_share` is the written part of the traffic; a small one selects "read", else "triad".
  double at(double bytes, double write_share) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

}  // namespace bench
