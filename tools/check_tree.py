#!/usr/bin/env python3
"""Checks what every file of the tree must keep to: ASCII, 100 columns in sources, files of at most
450 lines, no notes to self, no paths of somebody's machine, no dead relative link in documents, no
files of a kind that does not belong there."""

import os
import re
import sys

from tree import ROOT, Findings, read_lines, tree_files

SOURCES = (".c", ".cpp", ".h", ".hpp", ".py", ".sh", ".cmake", ".in", ".txt", ".json",
           ".cl")
DOCUMENTS = (".md",)
PLAIN = ("run-tests", "quickstart", "LICENSE", ".clang-format", ".gitignore", ".ci/run",
         "cmake/exports.map", "cmake/mps_exports.map", "cmake/train_exports.map",
         "apps/openbnns/pages/openbnns.1", "apps/openbnns/pages/openbnns.bash",
         "apps/openbnns/pages/openbnns.zsh", "apps/openbnns/pages/openbnns.fish")
DATA = ("tests/fuzz/corpus/", "tests/mps/data/", "docs/pictures/")
MAX_COLUMNS = 100
MAX_LINES = 450

# Longer than MAX_LINES, and why.
LONG_FILES = {
    "include/openbnns/bnns.h": "all declarations of one interface",
    "include/openbnns/bnns_constants.h": "all constants of one interface",
    "include/openbnns/bnns_structures.h": "all structures of one interface",
    "tests/abi/layout.h": "one line per field of the ABI",
}

# In pieces, so that this file passes its own check.
NOTES = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX")) + r")\b")
# Templates for temporary files are no paths of a machine.
MACHINE_PATH = re.compile(r"(?<![\w.$}*])/(?:home|root|Users|work|tmp|mnt|media)/"
                          r"(?!\w*XXXXXX)[\w.]")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def check_line(path, number, line, findings):
    if path.endswith(SOURCES) and len(line) > MAX_COLUMNS:
        findings.add(path, number, f"{len(line)} columns; at most {MAX_COLUMNS}")
    strange = next((c for c in line if not (" " <= c <= "~" or c == "\t")), None)
    if strange is not None:
        findings.add(path, number, f"character U+{ord(strange):04X}; ASCII only")
    if line != line.rstrip():
        findings.add(path, number, "blanks at the end of the line")
    note = NOTES.search(line)
    if note:
        findings.add(path, number, f"{note.group(1)}: do it, or open an issue")
    if MACHINE_PATH.search(line):
        findings.add(path, number, "absolute path of a machine")


def check_links(path, number, line, findings):
    for target in LINK.findall(line):
        if re.match(r"[a-z]+:", target):
            continue
        place = os.path.normpath(os.path.join(ROOT, os.path.dirname(path), target))
        if not os.path.exists(place):
            findings.add(path, number, f"link to {target}, which does not exist")


def main():
    findings = Findings()
    for path in tree_files():
        if path.startswith(DATA):
            continue
        document = path.endswith(DOCUMENTS)
        if not (document or path.endswith(SOURCES) or path in PLAIN):
            findings.add(path, 1, "a kind of file the tree does not have; left over?")
            continue
        lines = read_lines(path)
        if lines[-1] != "":
            findings.add(path, len(lines), "no newline at the end of the file")
        for number, line in enumerate(lines, 1):
            check_line(path, number, line, findings)
            if document:
                check_links(path, number, line, findings)
        count = len(lines) - 1
        if not document and count > MAX_LINES and path not in LONG_FILES:
            findings.add(path, count, f"{count} lines; at most {MAX_LINES}, split by concept")
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
