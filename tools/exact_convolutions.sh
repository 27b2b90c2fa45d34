#!/bin/sh
# Runs many random convolutions on small integers, whose results must be exact in every pass.
#   tools/exact_convolutions.sh BUILD_DIRECTORY [PROBLEMS]
set -eu
build=${1:?usage: tools/exact_convolutions.sh BUILD_DIRECTORY [PROBLEMS]}
OPENBNNS_EXACT_PROBLEMS=${2:-25000} "$build/tests/unit/exact_convolution_test"
