"""What the checks of this folder share: the files of the tree and the form of a finding."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def tracked_files():
    """Paths below ROOT that are, or could be, under version control."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True)
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
        return sorted(n for n in set(names) if n and os.path.isfile(os.path.join(ROOT, n)))
    found = []  # a source archive: no repository, no builds
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "out", "__pycache__")
                      and not f.startswith("build")]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
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
