#!/usr/bin/env python3
"""Checks that the worked example of docs/adding-a-layer.md is code that compiles in this tree.

Blocks behind a line "<!-- file: src/ops/gram.h -->" are put together, file by file, beside the tree
and parsed by the compiler (CXX, or c++) with the warnings of the library.
"""

import os
import re
import subprocess
import sys
import tempfile

from tree import ROOT, read_lines

GUIDE = "docs/adding-a-layer.md"
FILE = re.compile(r"<!-- file: (\S+) -->$")


def files_of(lines):
    """Path -> text of all blocks marked with it, in order."""
    files, path, inside = {}, None, False
    for line in lines:
        mark = FILE.match(line)
        if mark:
            path = mark.group(1)
        elif path and line.startswith("```"):
            inside = not inside
            if inside:
                files.setdefault(path, []).append("")
            else:
                path = None
        elif inside:
            files[path].append(line)
    return {path: "\n".join(text[1:]) + "\n" for path, text in files.items()}


def main():
    files = files_of(read_lines(GUIDE))
    if not files:
        sys.exit(f"{GUIDE}: no block is marked with its file")
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="ascii") as f:
                f.write(text)
        includes = [f"-I{os.path.join(base, part)}" for base in (folder, ROOT)
                    for part in ("src", "spec", "include")]
        failed = False
        for path in files:
            command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                       "-Wno-missing-field-initializers", "-x", "c++", *includes,
                       "-include", os.path.join(folder, path), os.devnull]
            failed |= subprocess.run(command, check=False).returncode != 0
        if failed:
            sys.exit(f"{GUIDE}: the example does not compile")
    print(f"{GUIDE}: {len(files)} files of the example compile")


if __name__ == "__main__":
    main()
