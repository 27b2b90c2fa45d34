"""The manual page and the completions know every option of every command."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from support import PROGRAM, ProgramTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = os.path.join(ROOT, "apps", "openbnns", "pages")
COMMANDS = ("train", "eval", "predict", "info", "gradcheck", "bench")


class Pages(ProgramTest):
    def page(self, ending):
        with open(os.path.join(PAGES, "openbnns." + ending), encoding="utf-8") as file:
            return file.read()

    def test_written_from_this_program(self):
        tool = os.path.join(ROOT, "tools", "program_pages.py")
        done = subprocess.run([sys.executable, tool, PROGRAM, "--check"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_option(self):
        manual, fish = self.page("1").replace("\\-", "-"), self.page("fish")
        with open(os.path.join(ROOT, "docs", "program.md"), encoding="utf-8") as file:
            document = file.read()
        for command in COMMANDS:
            text = self.run_program(command, "--help").stdout
            options = re.findall(r"^  (?:-h,)?(--[\w-]+)", text, re.M)
            self.assertGreater(len(options), 1)
            for option in options:
                self.assertIn(option, manual)
                self.assertIn(f"from {command}' -l {option[2:]}", fish)
                self.assertIn(option, document)
                self.assertIn(option, self.complete("openbnns", command, option))

    def complete(self, *words):
        """What bash offers for the last word."""
        script = (f"source {PAGES}/openbnns.bash; COMP_WORDS=({' '.join(words)}); "
                  f"COMP_CWORD={len(words) - 1}; _openbnns; echo ${{COMPREPLY[@]}}")
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              check=True).stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("openbnns", "gr"), ["gradcheck"])
        self.assertEqual(self.complete("openbnns", "train", "--optimizer", "ada"),
                         ["adam", "adamw"])
        self.assertIn("lenet", self.complete("openbnns", "train", "--network", "le"))

    @unittest.skipUnless(shutil.which("man"), "there is no man")
    def test_manual_without_warnings(self):
        done = subprocess.run(["man", "--warnings", "-l", os.path.join(PAGES, "openbnns.1")],
                              capture_output=True, text=True, env={**os.environ, "MANWIDTH": "80"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
