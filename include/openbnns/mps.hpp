// The loss kernels of Metal Performance Shaders on host devices: library openbnns_mps. Classes are
// named as in Apple's framework without the prefix, in the namespaces bnns::MTL and bnns::MPS;
// ownership is by std::shared_ptr; a refused call throws MPS::Error and changes nothing.
#ifndef OPENBNNS_MPS_HPP
#define OPENBNNS_MPS_HPP

#include "mps/image.hpp"
#include "mps/kernel.hpp"
#include "mps/loss.hpp"
#include "mps/metal.hpp"
#include "mps/one_shot_loss.hpp"
#include "mps/types.hpp"
#include "mps/yolo_loss.hpp"

#endif
