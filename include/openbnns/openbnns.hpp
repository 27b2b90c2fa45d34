// The C++20 classes: layers, optimizers, arrays. Header-only over the C API, whose functions are
// the only ABI. Failures throw bnns::Error.
#ifndef OPENBNNS_OPENBNNS_HPP
#define OPENBNNS_OPENBNNS_HPP

#if __cplusplus < 202002L
#error "openbnns/openbnns.hpp needs C++20: compile with -std=c++20, or use openbnns/openbnns.h"
#else

#include "binary_layer.hpp"
#include "descriptor.hpp"
#include "error.hpp"
#include "filter_parameters.hpp"
#include "functions.hpp"
#include "gather.hpp"
#include "labels.hpp"
#include "layer.hpp"
#include "layers/activation.hpp"
#include "layers/arithmetic.hpp"
#include "layers/broadcast_matrix_multiply.hpp"
#include "layers/convolution.hpp"
#include "layers/embedding.hpp"
#include "layers/dropout.hpp"
#include "layers/fully_connected.hpp"
#include "layers/fused.hpp"
#include "layers/gram.hpp"
#include "layers/loss.hpp"
#include "layers/lstm.hpp"
#include "layers/multihead_attention.hpp"
#include "layers/normalization.hpp"
#include "layers/padding.hpp"
#include "layers/permute.hpp"
#include "layers/pooling.hpp"
#include "layers/resize.hpp"
#include "layers/sparse.hpp"
#include "layers/reduction.hpp"
#include "layers/window.hpp"
#include "movement.hpp"
#include "optimizer.hpp"
#include "parameter_list.hpp"
#include "random.hpp"
#include "shape.hpp"
#include "tensor.hpp"
#include "top_k.hpp"

#endif
#endif
