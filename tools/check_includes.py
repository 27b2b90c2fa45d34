#!/usr/bin/env python3
"""Checks that includes point in one direction only: api -> layers -> ops -> math ->
simd, core; mps -> core; train -> public headers.

Kernels and ops must not see BNNS descriptors or filters, not even through another header; the spec,
the examples and the benchmark see what a client sees. A file of kernels must name itself in
HWY_TARGET_INCLUDE: with a name left from a copy, Highway would compile the other file per target.
"""

import os
import re
import sys

from tree import ROOT, Findings, read_lines, tree_files

INCLUDE = re.compile(r'\s*#\s*include\s+["<]([^">]+)[">]')
TARGET_INCLUDE = re.compile(r'\s*#\s*define\s+HWY_TARGET_INCLUDE\s+"([^"]+)"')
SOURCE = (".c", ".cpp", ".h", ".hpp")
INTERNAL = ("core", "simd", "math", "ops", "layers", "api", "mps", "train")

# What a folder may include. std: C++ standard headers; system: C and POSIX headers; public: ours
# in include/; hwy: Highway; own: of the same row of this table; other: somebody else's library; a
# name of a top folder, such as spec: its files.
ALLOWED = {
    "include/openbnns": {"own", "std", "system"},
    "include/compat": {"own", "public", "std", "system", "other"},
    "src/core": {"core", "public", "std"},
    "src/simd": {"simd", "std", "hwy"},
    "src/math": {"math", "simd", "core", "std", "hwy"},
    "src/ops": {"ops", "math", "simd", "core", "std", "hwy"},
    "src/layers": {"layers", "ops", "core", "public", "std"},
    "src/api": {"api", "layers", "core", "public", "std"},
    "src/mps": {"mps", "core", "math", "public", "std"},
    "src/train": {"train", "public", "std", "system", "other"},
    "apps": {"own", "public", "std", "system", "other"},
    "spec": {"own", "public", "std", "system"},
    "examples": {"own", "public", "std", "system"},
    "bench": {"own", "spec", "public", "std", "system", "hwy", "other"},
    "tests/install": {"own", "public", "std", "system", "other"},
    "tests/abi": {"own", "public", "std", "system"},
    "tests/mps": {"own", "mps", "public", "std", "system", "other"},
    "tests/train": {"own", "train", "public", "std", "system", "other"},
    "tests/fuzz": {"own", "train", "public", "std", "system", "other"},
}
# File (without its ending): what it may include beyond its folder.
EXCEPTIONS = {"src/core/platform": {"system"}, "src/core/target": {"hwy"},
              "src/mps/opencl/api": {"system"}}

# No file of these folders may reach these headers, directly or not.
BLIND = ("src/simd", "src/math", "src/ops")
HIDDEN = ("src/core/call.h", "src/core/descriptor.h", "src/core/filter.h")


def folder_of(path):
    return next((f for f in ALLOWED if path.startswith(f + "/")), None)


def resolve(path, name):
    """The file in the tree that an include names, or None."""
    own = folder_of(path) or os.path.dirname(path)
    for base in (os.path.dirname(path), own, "src", "include", "include/compat", ""):
        candidate = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(ROOT, candidate)):
            return candidate
    return None


def kind_of(path, name):
    found = resolve(path, name)
    if found is not None:
        parts = found.split("/")
        if parts[0] == "src":
            return parts[1]
        if folder_of(found) == folder_of(path):
            return "own"
        return "public" if parts[0] == "include" else parts[0]
    first = name.split("/")[0]
    if first in INTERNAL:
        return first
    if first == "hwy":
        return "hwy"
    if "." not in name and "/" not in name:
        return "std"
    if name.endswith(".h") and ("/" not in name or first in ("sys", "linux")):
        return "system"
    return "other"


def includes_of(path):
    for number, line in enumerate(read_lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def check_direct(path, findings):
    folder = folder_of(path)
    if folder is None:
        return
    allowed = ALLOWED[folder] | EXCEPTIONS.get(os.path.splitext(path)[0], set())
    for number, name in includes_of(path):
        kind = kind_of(path, name)
        if kind not in allowed:
            findings.add(path, number, f'"{name}" is {kind}; {folder} may include only '
                         + ", ".join(sorted(allowed)))


def check_reach(path, findings):
    """Follows includes inside src/; reports the line through which a hidden header is reached."""
    for number, name in includes_of(path):
        start = resolve(path, name)
        pending, seen = [start], set()
        while pending:
            current = pending.pop()
            if current is None or current in seen or not current.startswith("src/"):
                continue
            seen.add(current)
            pending += [resolve(current, n) for _, n in includes_of(current)]
        for hidden in HIDDEN:
            if hidden in seen:
                findings.add(path, number, f'"{name}" brings in {hidden}')


def check_kernel_name(path, findings):
    for number, line in enumerate(read_lines(path), 1):
        match = TARGET_INCLUDE.match(line)
        own = match and (match.group(1), "src/" + match.group(1), resolve(path, match.group(1)))
        if match and path not in own:
            findings.add(path, number, f'HWY_TARGET_INCLUDE is "{match.group(1)}"; '
                         "it must be this file")


def main():
    findings = Findings()
    for path in tree_files():
        if not path.endswith(SOURCE):
            continue
        check_direct(path, findings)
        check_kernel_name(path, findings)
        if path.startswith(BLIND):
            check_reach(path, findings)
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
