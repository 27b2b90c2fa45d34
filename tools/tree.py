"""What the checks of this folder share: the files of the tree and the form of a finding."""

import fnmatch
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def is_ignored(path, is_folder, patterns):
    """Whether one of the patterns of .gitignore names this path below ROOT."""
    for pattern in patterns:
        anchored = "/" in pattern.rstrip("/")
        name = path if anchored else os.path.basename(path)
        if fnmatch.fnmatchcase(name, pattern.strip("/")) and (is_folder or pattern[-1] != "/"):
            return True
    return False


def tree_files():
    """Paths below ROOT that .gitignore does not name. Found without git, so that the checks also
    run in a source archive and on a machine that does not have it."""
    patterns = [".git"] + [p for p in read_lines(".gitignore") if p and p[0] != "#"]
    found, pending = [], [""]
    while pending:
        for entry in os.scandir(os.path.join(ROOT, pending.pop())):
            path = os.path.relpath(entry.path, ROOT)
            if is_ignored(path, entry.is_dir(), patterns):
                continue
            (pending if entry.is_dir() else found).append(path)
    return sorted(found)


def read_lines(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")


class Findings:
    """Prints each as "path:line: text"; finish() is the exit code."""

    def __init__(self):
        self.count = 0

    def add(self, path, line, text):
        self.count += 1
        print(f"{path}:{line}: {text}")

    def finish(self):
        sys.stdout.flush()
        return 1 if self.count else 0
