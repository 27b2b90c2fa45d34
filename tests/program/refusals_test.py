"""What bad input gets: an exit status, one line that says why, and files left as they were."""

import os
import subprocess
import unittest

from support import PROGRAM, QUICK, ProgramTest


class Refusals(ProgramTest):
    def test_usage(self):
        self.refused(2, "--data", "train")
        self.refused(2, "--wrong", "train", *QUICK, "--wrong")
        self.refused(2, "adam|adamw|rmsprop|sgd", "train", *QUICK, "--optimizer", "best")
        self.refused(2, "--image-size", "train", *QUICK, "--image-size", "12")
        self.refused(2, "--epochs", "train", "--data", "synthetic-digits:300", "--epochs", "0")
        self.refused(2, "--epochs", "train", "--data", "synthetic-digits:300", "--epochs", "x")
        self.refused(2, "--input", "bench", "--input", "0x3")
        self.refused(2, "two of model", "train", *QUICK, "--output", "a", "--log", "./a")
        self.refused(2, "--resume", "train", *QUICK, "--checkpoint", "none", "--resume")

    def test_network(self):
        self.refused(3, "nosuch", "train", *QUICK, "--network", "nosuch")
        self.write("net.json", '{"input": [28, 28, 1], "layers": [{"kind": "magic"}]}')
        self.refused(3, "net.json", "train", *QUICK, "--network", "net.json")
        self.write("half.json", '{"input": [')
        self.refused(3, "half.json", "info", "half.json")

    def test_data(self):
        self.write("bad.csv", "a,b\n1,2\n3\n")
        self.refused(4, "bad.csv", "train", "--data", "bad.csv")
        self.write("empty.csv", "")
        self.refused(4, "empty.csv", "train", "--data", "empty.csv")
        self.run_program("train", *QUICK, "--quiet")
        self.write("torn.png", b"\x89PNG\r\n\x1a\n" + bytes(20))
        self.refused(4, "torn.png", "predict", "openbnns-model.safetensors", "torn.png")
        self.table("flowers.csv")
        self.refused(4, "flowers.csv", "eval", "openbnns-model.safetensors", "--data",
                     "flowers.csv")

    def test_model(self):
        self.write("m.safetensors", b"\x05\0\0\0\0\0\0\0hello")
        for command in (["info"], ["predict"], ["eval"]):
            more = {"predict": ["x.png"], "eval": ["--data", "synthetic-digits:300"]}
            self.refused(5, "m.safetensors", *command, "m.safetensors",
                         *more.get(command[0], []))
        self.run_program("train", *QUICK, "--quiet")
        self.refused(5, "learning rate", "train", *QUICK, "--resume", "--learning-rate", "0.5",
                     "--quiet")

    def test_files(self):
        self.refused(6, "nofile", "info", "nofile")
        self.refused(6, "no folder", "train", *QUICK, "--output", "none/model")
        self.refused(6, "nothing-here", "train", "--data", "nothing-here")
        os.mkdir(self.path("folder"))
        self.refused(6, "it is a folder", "train", *QUICK, "--output", "folder")

    def test_full_disk_is_found_before_training(self):
        limited = subprocess.run(["bash", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "-",
                                  PROGRAM, "train", *QUICK], cwd=self.folder.name,
                                 capture_output=True, text=True)
        self.assertEqual(limited.returncode, 6, limited.stderr)
        self.assertEqual(limited.stdout, "")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_diverged(self):
        self.write("openbnns-model.safetensors", "as it was")
        done = self.run_program("train", "--data", "synthetic-digits:600", "--optimizer", "sgd",
                                "--learning-rate", "1e5", status=7)
        self.assertRegex(done.stderr, r"at step \d+ of epoch \d+")
        self.assertEqual(self.read("openbnns-model.safetensors"), b"as it was")
        self.assertIn(b"iverged", self.read("openbnns-model.html"))

    def test_standard_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 6)
        # A reader that leaves does not cost the model.
        process = self.start("train", *QUICK)
        process.stdout.close()
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()
        self.assertTrue(self.read("openbnns-model.safetensors"))

    def test_decimal_comma(self):
        locales = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
        comma = next((name for name in locales if name.startswith(("de_", "fr_"))), "de_DE.UTF-8")
        figures = self.last_json("train", *QUICK, "--learning-rate", "0.002", "--json",
                                 env={"LC_ALL": comma, "LANG": comma})
        self.assertEqual(figures["epochs"], 2)


if __name__ == "__main__":
    unittest.main()
