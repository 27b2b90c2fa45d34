// The ranks of a training that runs as several processes, often on several machines. A launcher
// such as mpirun starts them; launched_communicator() finds that out and loads the plug-in for MPI.
// Whoever has another way to carry messages derives from Communicator.
#ifndef OPENBNNS_TRAIN_COMMUNICATOR_HPP
#define OPENBNNS_TRAIN_COMMUNICATOR_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api.hpp"

namespace bnns::train {

// All calls come from the thread that calls fit(). Messages between two ranks arrive in the order
// in which they are sent, and are received in that order.
class OPENBNNS_TRAIN_API Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  // A transfer that has begun; `bytes` must stay as they are until wait() returned.
  using Transfer = std::size_t;
  virtual Transfer begin_send(std::span<const std::byte> bytes, std::size_t to) = 0;
  virtual Transfer begin_receive(std::span<std::byte> bytes, std::size_t from) = 0;
  // Each transfer is waited for once.
  virtual void wait(Transfer transfer) = 0;
  // Called now and then between layers: transfers that have begun may go on.
  virtual void progress() {}
  // From one rank to all.
  virtual void broadcast(std::span<std::byte> bytes, std::size_t root) = 0;

  // Ends all ranks, with this exit status.
  [[noreturn]] virtual void abort(int status) = 0;
};

// NULL if no launcher of MPI started this process. Call it once, before anything else, in the
// thread that will call fit(). Throws Error if a launcher did and the plug-in cannot be used, or
// cannot reach the other ranks; no rank has a number yet that the text could tell.
OPENBNNS_TRAIN_API std::unique_ptr<Communicator> launched_communicator();

// Names with their values, in the order in which they are compared.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

// fit() and evaluate() compare all that they are given. Whoever has more that must be the same on
// all ranks, such as data that is used later, compares it first: a rank that finds out alone leaves
// the others waiting. All ranks call it; where they differ, it throws Error::Kind::ranks on all of
// them, with the first name whose values differ, the ranks and their values.
OPENBNNS_TRAIN_API void require_agreement(Communicator& ranks, const NamedValues& values);

// Makes the best SIMD target that all ranks have the one of this process, as bits are promised per
// target. fit() does it too; all ranks call it. Throws Error::Kind::ranks if there is none.
OPENBNNS_TRAIN_API void agree_on_target(Communicator& ranks);

}  // namespace bnns::train

#endif
