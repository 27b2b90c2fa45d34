// bnns::train::Error: what the training library throws. what() says where (file, line or field),
// what was found there and which rule it breaks.
#ifndef OPENBNNS_TRAIN_ERROR_HPP
#define OPENBNNS_TRAIN_ERROR_HPP

#include <stdexcept>
#include <string>

#include "api.hpp"

namespace bnns::train {

class OPENBNNS_TRAIN_API Error : public std::runtime_error {
 public:
  enum class Kind {
    usage,     // an option or a combination of options
    network,   // the description of a network
    data,      // samples, labels, files of samples
    model,     // a model file or a checkpoint
    file,      // the system: a file that cannot be read or written
    training,  // training that diverged
    ranks,     // ranks that do not fit each other; thrown on all of them alike
  };

  Error(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  // For example ("images.idx", "magic is 0x00000901; it must be 0x00000803").
  Error(Kind kind, const std::string& where, const std::string& text)
      : Error(kind, where + ": " + text) {}

  Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

}  // namespace bnns::train

#endif
