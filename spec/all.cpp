// One include and one line per layer.
#include "activation.h"
#include "activation_checks.h"
#include "case.h"
#include "conversion.h"
#include "copy.h"
#include "fully_connected.h"
#include "fully_connected_checks.h"
#include "sizes.h"

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
  add_sizes(suite);
  return suite;
}

}  // namespace spec
