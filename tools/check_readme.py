#!/usr/bin/env python3
"""Checks that the code in the documents is code that is compiled and run.

A line "<!-- snippet: examples/xor.cpp -->" in front of a code block says that the block equals the
part of that file between its two [snippet] marks, less the common indentation. With
"<!-- snippet: src/layers/gram.cpp: BNNSFilter make_gram_filter -->" the part begins with the only
line that begins with the text behind the path, and ends with the brace that closes it. In README.md
every block of C or C++ must carry such a line, and every such line must be followed by a block.
With --write the blocks are brought up to date instead.
"""

import os
import re
import sys
import textwrap

from tree import ROOT, Findings, read_lines, tree_files

MARK = "[snippet]"
SNIPPET = re.compile(r"<!-- snippet: ([^\s:]+)(?:: (.+))? -->$")
FENCE = re.compile(r"```(\w*)$")
CODE = ("c", "cpp", "c++")


def marked_lines(lines):
    """The lines between the marks, or None if there are not exactly two marks."""
    marks = [i for i, line in enumerate(lines) if MARK in line]
    return lines[marks[0] + 1:marks[1]] if len(marks) == 2 else None


def named_lines(lines, beginning):
    """From the only line that begins with this text to the brace that closes it, or None."""
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith(beginning)]
    if len(starts) != 1:
        return None
    first = starts[0]
    closing = lines[first][:len(lines[first]) - len(lines[first].lstrip())] + "}"
    end = next((i for i in range(first + 1, len(lines)) if lines[i].startswith(closing)), None)
    return None if end is None else lines[first:end + 1]


def part_of(path, beginning):
    """The lines that a block must have, or None if the file or the part is not there."""
    if not os.path.isfile(os.path.join(ROOT, path)):
        return None
    lines = read_lines(path)
    part = named_lines(lines, beginning) if beginning else marked_lines(lines)
    return None if part is None else textwrap.dedent("\n".join(part)).split("\n")


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
    example, beginning = named.groups()
    part = part_of(example, beginning)
    if part is None:
        what = f'one line that begins with "{beginning}"' if beginning else f"two {MARK} marks"
        findings.add(path, first - 1, f"{example} is not a file with {what}")
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
        blocks = list(blocks_of(lines))
        starts = {block[0] for block in blocks}
        for i, line in enumerate(lines):
            if SNIPPET.match(line) and i + 2 not in starts:
                findings.add(path, i + 1, "no block of code follows")
        for block in reversed(blocks):
            part = check_block(path, lines, block, findings)
            if part is not None:
                lines[block[0]:block[1]] = part
        if write and findings.count > before:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
    return findings.finish() if not write else 0


if __name__ == "__main__":
    sys.exit(main())
