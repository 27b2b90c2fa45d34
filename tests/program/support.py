"""Runs the program in a temporary folder, and reads what it wrote."""

import json
import os
import random
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["OPENBNNS_PROGRAM"]
# Where every access is checked, a whole training takes minutes; short ones run the same code.
SANITIZED = "OPENBNNS_SANITIZED" in os.environ
QUICK = ["--data", "synthetic-digits:300", "--epochs", "2"]


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def start(self, *arguments, **more):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder.name,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def run_program(self, *arguments, status=0, env=None):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder.name, capture_output=True,
                              text=True, timeout=240, env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def last_json(self, *arguments, **more):
        return json.loads(self.run_program(*arguments, **more).stdout.splitlines()[-1])

    def refused(self, status, text, *arguments):
        """Nothing on standard output, one line on standard error, which holds the text."""
        done = self.run_program(*arguments, status=status)
        self.assertTrue(done.stderr.startswith("openbnns: "), done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def tensors(self, name):
        """The bytes behind the header: all tensors, without texts such as the command line."""
        content = self.read(name)
        return content[8 + struct.unpack("<Q", content[:8])[0]:]

    def table(self, name, rows=200, regression=False):
        numbers = random.Random(1)
        lines = ["a,b,colour,kind"]
        for row in range(rows):
            kind = row % 2
            a, b = numbers.gauss(2 * kind, 0.4), numbers.gauss(-kind, 0.4)
            target = f"{3 * a - b:.4f}" if regression else ("yes" if kind else "no")
            lines.append(f"{a:.4f},{b:.4f},{'red' if kind else 'blue'},{target}")
        self.write(name, "\n".join(lines) + "\n")
