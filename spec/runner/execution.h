// Runs a case with dense tensors and random numbers and checks nothing: for timing, for the support
// table and for comparing runs.
#ifndef OPENBNNS_SPEC_EXECUTION_H
#define OPENBNNS_SPEC_EXECUTION_H

#include <vector>

#include "runner/case.h"
#include "runner/placement.h"

namespace spec {

class Execution {
 public:
  Execution(const Case& c, const TypeSet& types, size_t threads);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  // Replaces one value in about `one_of` of every float input, parameter and upstream delta by NaN
  // of either sign or infinity; the same ones each time.
  void sprinkle_special(uint64_t one_of);

  bool create();
  bool forward();
  bool backward(const Backward& way);
  // Bytes of the operands and deltas that the last call was given.
  double bytes() const;
  // Appends the elements of all operands and deltas.
  void read_bytes(std::vector<std::vector<std::byte>>& to) const;

 private:
  const Case& case_;
  Call call_;
  std::vector<Placement> value_, delta_;
};

}  // namespace spec
#endif
