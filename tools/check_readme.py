#!/usr/bin/env python3
"""Checks that the code in the documents is code that is compiled and run.

A line "<!-- snippet: examples/xor.cpp -->" in front of a code block says that the block equals the
part of that file between its two [snippet] marks, less the common indentation. In README.md every
block of C or C++ must carry such a line. With --write the blocks are brought up to date instead.
"""

import os
import re
import sys
import textwrap

from tree import ROOT, Findings, read_lines, tree_files

MARK = "[snippet]"
SNIPPET = re.compile(r"<!-- snippet: (\S+) -->$")
FENCE = re.compile(r"```(\w*)$")
CODE = ("c", "cpp", "c++")


def part_of(example):
    """The lines between the marks, or None if there are not exactly two marks."""
    lines = read_lines(example)
    marks = [i for i, line in enumerate(lines) if MARK in line]
    if len(marks) != 2:
        return None
    return textwrap.dedent("\n".join(lines[marks[0] + 1:marks[1]])).split("\n")


def blocks_of(lines):
    """(first line of code, line behind the last, language) of every fenced block, from 0."""
    start, language = None, ""
    for i, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and start is None:
            start, language = i + 1, fence.group(1)
        elif fence:
            yield start, i, language
            start = None


def check_block(path, lines, block, findings):
    """Reports what is wrong with one block; returns the lines it should have, or None."""
    first, end, language = block
    named = SNIPPET.match(lines[first - 2]) if first >= 2 else None
    if named is None:
        if path == "README.md" and language in CODE:
            findings.add(path, first, "a block of code without a line <!-- snippet: FILE -->")
        return None
    example = named.group(1)
    part = part_of(example) if os.path.isfile(os.path.join(ROOT, example)) else None
    if part is None:
        findings.add(path, first - 1, f"{example} is not a file with two {MARK} marks")
        return None
    found = lines[first:end]
    if found != part:
        differing = next((i for i, (a, b) in enumerate(zip(found, part)) if a != b),
                         min(len(found), len(part)))
        findings.add(path, first + 1 + differing, f"differs from {example}")
    return part


def main():
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        print("usage: check_readme.py [--write]", file=sys.stderr)
        return 2
    findings = Findings()
    for path in tree_files():
        if not path.endswith(".md"):
            continue
        lines, before = read_lines(path), findings.count
        for block in reversed(list(blocks_of(lines))):
            part = check_block(path, lines, block, findings)
            if part is not None:
                lines[block[0]:block[1]] = part
        if write and findings.count > before:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
    return findings.finish() if not write else 0


if __name__ == "__main__":
    sys.exit(main())
