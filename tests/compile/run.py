#!/usr/bin/env python3
"""Compiles wrong programs and looks at the first error: it must name the field that is wrong.
Usage: run.py COMPILER INCLUDE-FOLDER. Each case is a body of main() after the declarations below,
and what the first error must contain; cases of clang have the form Options{...}."""

import os
import subprocess
import sys
import tempfile

PROGRAM = """
#include <openbnns/openbnns.hpp>
using namespace bnns;
int main() {
  Tensor x(Shape::vector(3)), y(Shape::vector(2)), w(Shape::matrix_row_major(3, 2));
  Tensor image(Shape::image_chw(4, 4, 1)), half(Shape::image_chw(2, 2, 1));
  (void)x; (void)y; (void)w; (void)image; (void)half;
  %s
}
"""

# Programs that are right, as one.
RIGHT = """
  FullyConnectedLayer a({.input = x, .output = y, .weights = w});
  FullyConnectedLayer b(
      {.input = x, .output = y, .weights = w, .filter_parameters = {.thread_count = 1}});
  PoolingLayer c({.input = image, .output = half, .kernel_size = 2, .stride = 2});
  PoolingLayer d({.input = image, .output = half, .kernel_size = {2, 2}, .stride = {2, 2}});
  ConvolutionLayer e({.input = image,
                      .output = half,
                      .weights = Tensor(Shape::convolution_weights_oihw(3, 3, 1, 1)),
                      .stride = 2,
                      .padding = 1});
  AdamOptimizer adam = {.learning_rate = 0.1f};
  adam.time_step++;
"""

# (body, text of the first error); an empty text: the program is right.
BOTH = [
    (RIGHT, ""),
    ("FullyConnectedLayerOptions a{.input = x, .output = y}; (void)a;", ".weights must be given"),
    ("FullyConnectedLayerOptions a{.output = y, .weights = w}; (void)a;", ".input must be given"),
    ("FullyConnectedLayerOptions a{.input = x, .weights = w}; (void)a;", ".output must be given"),
    ("FullyConnectedLayerOptions a{.input = x, .output = y, .weights = 3}; (void)a;",
     "field::weights"),
    ("SGDMomentumOptimizer a{.momentum = 0.9f}; (void)a;", ".learning_rate must be given"),
    ("PoolingLayerOptions a{.input = image, .output = half}; (void)a;",
     ".kernel_size must be given"),
    ("LossLayerOptions a{.input = x, .output = y}; (void)a;", ".loss_function must be given"),
    ("ActivationLayerOptions a{.input = x, .output = x}; (void)a;", ".function must be given"),
    ("NormalizationLayerOptions a{.input = image, .output = image}; (void)a;",
     ".type must be given"),
    ("BroadcastMatrixMultiplyLayerOptions a{.input_b = w, .output = w}; (void)a;",
     ".input_a must be given"),
    ("GramLayerOptions a{.input = image, .output = y}; (void)a;", ".alpha must be given"),
    ("FullyConnectedLayerOptions a{.input = x, .output = y, .wieghts = w}; (void)a;", "wieghts"),
    ("FullyConnectedLayerOptions a{.input = x, .weights = w, .output = y}; (void)a;", "output"),
]
# The form of everyday, where overload resolution could hide the reason.
GCC = [
    ("FullyConnectedLayer a({.input = x, .output = y});", ".weights must be given"),
    ("PoolingLayer a({.input = image, .output = half});", ".kernel_size must be given"),
    ("LossLayer a({.input = x, .output = y});", ".loss_function must be given"),
    ("UnaryBackwardArguments a{.input = x}; (void)a;", ".output_gradient must be given"),
]


# Warnings are errors, too: what is right compiles without a word. (GCC warns of fields that are
# left out before it comes to the error.)
FLAGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror",
         "-Wno-error=missing-field-initializers"]


class Compiler:
    """Reads the headers once, as a precompiled one."""

    def __init__(self, command, include, folder):
        self.command = [command, *FLAGS, "-I", include]
        self.is_clang = "clang" in self.output(["--version"]).stdout
        header = os.path.join(include, "openbnns", "openbnns.hpp")
        compiled = os.path.join(folder, "all.pch" if self.is_clang else "all.hpp.gch")
        result = self.output(["-std=c++20", "-x", "c++-header", header, "-o", compiled])
        if result.returncode != 0:
            sys.exit(f"the headers alone do not compile: {result.stderr}")
        self.headers = (["-include-pch", compiled] if self.is_clang
                        else ["-include", os.path.join(folder, "all.hpp")])

    def output(self, arguments, source=""):
        return subprocess.run(self.command + arguments, input=source, capture_output=True,
                              text=True, check=False, env=dict(os.environ, LC_ALL="C"))

    def errors(self, arguments, source):
        result = self.output(arguments + ["-fsyntax-only", "-x", "c++", "-"], source)
        return [line for line in result.stderr.splitlines() if "error: " in line]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(sys.argv[1], sys.argv[2], folder)
        cases = BOTH + ([] if compiler.is_clang else GCC)
        for body, expected in cases:
            errors = compiler.errors(["-std=c++20"] + compiler.headers, PROGRAM % body)
            right = expected in errors[0] if errors and expected else not errors and not expected
            if not right:
                failures += 1
                print(f"FAIL  {body}\n  expected: {expected or 'no error'}\n  got: {errors[:2]}")
        errors = compiler.errors(["-std=c++17"], "#include <openbnns/openbnns.hpp>\n")
        if len(errors) > 2 or not errors or "needs C++20" not in errors[0]:
            failures += 1
            print(f"FAIL  C++17: one error must say what is needed; got: {errors}")
    print(f"{len(cases) + 1} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
