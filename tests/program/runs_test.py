"""Runs that are repeated, interrupted, resumed, and watched on a terminal. Of two runs with equal
command lines the whole model files are compared, of others the tensors: the files differ in the
command line they hold."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import unittest

from support import PROGRAM, QUICK, ProgramTest

LONG = ["--data", "synthetic-digits:3000", "--epochs", "6"]


class Runs(ProgramTest):
    def test_same_command_same_file(self):
        self.run_program("train", *QUICK, "--quiet")
        first = self.read("openbnns-model.safetensors")
        self.run_program("train", *QUICK, "--quiet")
        self.assertEqual(first, self.read("openbnns-model.safetensors"))

    def test_threads_do_not_matter_and_seeds_do(self):
        for name, more in (("one", ["--threads", "1"]), ("two", ["--threads", "2"]),
                           ("seed", ["--seed", "2"])):
            self.run_program("train", *QUICK, "--quiet", "--output", name, *more)
        self.assertEqual(self.tensors("one"), self.tensors("two"))
        self.assertNotEqual(self.tensors("one"), self.tensors("seed"))

    def test_interrupted_and_resumed(self):
        self.run_program("train", *LONG, "--quiet", "--output", "whole.safetensors")
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("train", *LONG, "--output", "cut.safetensors", text=True)
            for line in process.stdout:
                if line.startswith("epoch 1/"):
                    break
            process.send_signal(number)
            rest, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, status, errors)
            self.assertIn("--resume", rest)
            self.assertNotEqual(self.tensors("cut.safetensors"), self.tensors("whole.safetensors"))
            self.assertIn(b"topped", self.read("cut.html"))
            self.run_program("train", *LONG, "--quiet", "--output", "cut.safetensors", "--resume")
            self.assertEqual(self.tensors("cut.safetensors"), self.tensors("whole.safetensors"))
            self.assertEqual(self.read("cut.jsonl").count(b"\n"), 6)

    def on_terminal(self, columns, *arguments):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder.name, stdout=slave,
                                   stderr=slave, env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        output = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            output += part
        os.close(master)
        self.assertEqual(process.wait(60), 0, output)
        return output.decode()

    # A line is shown after 100 ms at the earliest: two epochs, of which each takes longer.
    def test_terminal(self):
        for columns in (40, 120):
            text = self.on_terminal(
                columns, "train", "--data", "synthetic-digits:12000", "--epochs", "2")
            self.assertIn("\r", text)
            lines = [line for line in text.replace("\x1b[K", "").replace("\r", "\n").split("\n")
                     if line.startswith("epoch")]
            self.assertGreater(len(lines), 2)
            self.assertLess(max(map(len, lines)), columns)
            self.assertTrue(any(" left" in line for line in lines) or columns < 60)


if __name__ == "__main__":
    unittest.main()
