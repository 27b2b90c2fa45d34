// One case with one set of types in one arrangement of memory: draws the numbers, runs the
// reference once, then the library for every target and number of threads.
#ifndef OPENBNNS_SPEC_TRIAL_H
#define OPENBNNS_SPEC_TRIAL_H

#include <map>
#include <string>
#include <vector>

#include "runner/case.h"
#include "runner/options.h"
#include "runner/placement.h"
#include "runner/variation.h"

namespace spec {

class Trial {
 public:
  Trial(const Case& c, const TypeSet& types, const Variation& variation, const Options& options,
        Report& report);
  void run();

 private:
  using Stored = std::vector<double>;
  struct Verdict {
    std::vector<std::byte> bits;
    std::string problem;
  };

  void draw();
  Stored draw_operand(const Operand& operand, const ElementType& type, size_t samples,
                      Random& random) const;
  double draw_number(const Operand& operand, const ElementType& type, Random& random) const;
  void load(size_t operand, const ElementType& type, const Stored& stored,
            std::vector<Array<double>>& to);
  Values<Bounded> reference_forward() const;
  Values<Bounded> reference_backward(const Backward& backward) const;
  void place();

  using Subset = std::vector<bool>;  // by operand: whether its delta is wanted

  void run_target(const std::string& target);
  void run_threads(size_t threads, const std::string& name);
  Call make_call(size_t threads);
  bool create(Call& call, const std::string& name);
  bool run_forward(Call& call, const Values<Bounded>& expected, const std::string& name,
                   const std::string& mode);
  void run_changed_parameters(Call& call, const std::string& name);
  bool run_backward_ways(Call& call, size_t threads, const std::string& name);
  std::vector<Subset> subsets(const Backward& backward, size_t threads) const;
  bool run_backward(Call& call, size_t way, const Subset& wanted, const std::string& name);
  void fill_deltas(Call& call, const Backward& backward, const Subset& wanted);
  std::string check_deltas(size_t way, const Subset& wanted, const std::string& mode);
  std::string subset_name(const Backward& backward, const Subset& wanted) const;

  std::string compare(const Placement& placement, const Array<Bounded>& expected,
                      const Stored* added_to, const std::string& what);
  std::string compare_once(const std::string& mode, const Placement& placement,
                           const Array<Bounded>& expected, const Stored* added_to,
                           const std::string& what);
  std::string inputs_changed(bool backward) const;
  void conclude(const std::string& name, const std::string& problem);

  Placement& out_memory(size_t i) { return value_[variation_.in_place ? 0 : i]; }
  bool is_input(size_t i) const { return case_.operands[i].role != Role::kOut; }
  size_t samples(size_t i) const { return case_.operands[i].samples(case_.batch); }

  const Case& case_;
  const TypeSet& types_;
  const Variation& variation_;
  const Options& options_;
  Report& report_;
  std::string name_;
  std::string target_;

  std::vector<Stored> stored_, stored_delta_, old_delta_;
  Values<double> drawn_;                  // the values of the stored numbers
  std::vector<Placement> value_, delta_;  // the memory that holds them
  Values<Bounded> expected_;
  std::vector<Values<Bounded>> expected_backward_;
  std::map<std::string, Verdict> verdicts_;  // of one thread, by mode and operand
  Stored scratch_;
};

}  // namespace spec
#endif
