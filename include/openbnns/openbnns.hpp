// The C++20 classes: layers, optimizers, arrays. Header-only over the C API, whose functions are
// the only ABI. Failures throw bnns::Error.
#ifndef OPENBNNS_OPENBNNS_HPP
#define OPENBNNS_OPENBNNS_HPP

#include "descriptor.hpp"
#include "error.hpp"
#include "filter_parameters.hpp"
#include "functions.hpp"
#include "layer.hpp"
#include "layers/activation.hpp"
#include "layers/convolution.hpp"
#include "layers/fully_connected.hpp"
#include "layers/gram.hpp"
#include "layers/loss.hpp"
#include "layers/normalization.hpp"
#include "layers/pooling.hpp"
#include "layers/window.hpp"
#include "optimizer.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "tensor.hpp"

#endif
