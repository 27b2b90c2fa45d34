// The constants of a loss as the kernels take them.
#pragma once

#include "mps/opencl/params.h"
#include "mps/work.h"

namespace bnns::impl::mps::opencl {

Formula formula_of(const LossFormula& formula, const LossValues& values);
bool is_softmax(const LossFormula& formula);

}  // namespace bnns::impl::mps::opencl
