// Runs a case with dense tensors and random numbers and checks nothing: for timing and for the
// support table.
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

  bool create();
  bool forward();
  bool backward(const Backward& way);
  // Bytes of the operands and deltas that the last call was given.
  double bytes() const;

 private:
  const Case& case_;
  Call call_;
  std::vector<Placement> value_, delta_;
};

}  // namespace spec
#endif
