// One include and one line per layer.
#include "activation.h"
#include "activation_checks.h"
#include "case.h"
#include "clip.h"
#include "clip_checks.h"
#include "conversion.h"
#include "copy.h"
#include "fully_connected.h"
#include "fully_connected_checks.h"
#include "loss.h"
#include "optimizer.h"
#include "sizes.h"
#include "yolo.h"

namespace spec {

Suite all_layers() {
  Suite suite;
  add_activation(suite);
  add_activation_checks(suite);
  add_conversion(suite);
  add_integer_activation(suite);
  add_fully_connected(suite);
  add_fully_connected_checks(suite);
  add_copy(suite);
  add_loss(suite);
  add_yolo(suite);
  add_clip(suite);
  add_clip_checks(suite);
  add_optimizer(suite);
  add_sizes(suite);
  return suite;
}

}  // namespace spec
