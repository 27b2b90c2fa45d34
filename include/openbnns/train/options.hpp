// How a network is trained.
#ifndef OPENBNNS_TRAIN_OPTIONS_HPP
#define OPENBNNS_TRAIN_OPTIONS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

namespace bnns::train {

class Communicator;

enum class Loss {
  automatic,  // softmax cross entropy for classes, mean square error for numbers
  softmax_cross_entropy,
  sigmoid_cross_entropy,
  categorical_cross_entropy,
  mean_square_error,
  mean_absolute_error,
  huber,
  hinge,
  log,
  cosine_distance,
};

struct OptimizerOptions {
  enum class Kind { adam, adamw, rmsprop, sgd };

  Kind kind = Kind::adam;
  double learning_rate = 1e-3;
  double momentum = 0;  // of SGD and RMSProp
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999;  // of Adam and AdamW
  double alpha = 0.99;                // of RMSProp
  double epsilon = 1e-8;
  double weight_decay = 0;  // AdamW: decoupled; the others: L2
  double clip_norm = 0;     // of the whole gradient; 0: no clipping
  double clip_value = 0;    // of every element; 0: no clipping
};

// The learning rate is multiplied by a factor that depends on the step.
struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  std::size_t warm_up_steps = 0;  // the factor rises from 0 to 1 over so many steps
  std::size_t step_epochs = 10;   // step: every so many epochs ...
  double step_factor = 0.1;       // ... it is multiplied by this
  double least = 0;               // cosine: where it ends
};

// Images are moved by up to max_shift pixels in x and y, and mirrored left to right half the time.
struct Augmentation {
  std::size_t max_shift = 0;
  bool flip = false;
};

struct TrainingOptions {
  std::size_t epochs = 5;
  std::size_t batch_size = 64;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  // 0: the library chooses; results do not depend on it
  // A batch is cut into so many parts, whose gradients are summed in a fixed order. Results depend
  // on it, and on it alone: not on who computes the parts.
  std::size_t shards = 1;
  Loss loss = Loss::automatic;
  double label_smoothing = 0;
  double huber_delta = 1;
  bool class_weights = false;  // samples of rare classes count more, so that classes count the same
  OptimizerOptions optimizer = {};
  Schedule schedule = {};
  Augmentation augmentation = {};
  std::size_t patience = 0;  // stop after so many epochs without a better validation; 0: never
  bool keep_best = true;     // end with the parameters of the best validation
  bool initialize = true;    // false: go on from the parameters the network has
  std::string checkpoint;  // a file that is written after every epoch and when training is stopped
  bool resume = false;     // go on from that file
  // The ranks that train together, each in a process with the same data, network and options, at
  // most as many as there are shards. Results do not depend on their number. Only rank 0 writes and
  // reads the checkpoint. NULL: this process alone.
  Communicator* communicator = nullptr;
};

}  // namespace bnns::train

#endif
