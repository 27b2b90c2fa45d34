"""Every command does what it is for."""

import csv
import io
import json
import os
import random
import unittest

from support import QUICK, SANITIZED, ProgramTest


class Commands(ProgramTest):
    @unittest.skipIf(SANITIZED, "takes minutes")
    def test_digits_with_no_other_option(self):
        result = self.last_json("train", "--data", "synthetic-digits", "--json")
        self.assertGreaterEqual(result["test_accuracy"], 0.98)
        for name in ("model", "report", "log", "checkpoint"):
            self.assertTrue(self.read(result[name]), name)
        lines = self.read("openbnns-model.jsonl").decode().splitlines()
        self.assertEqual([json.loads(line)["epoch"] for line in lines], list(range(1, 11)))
        measured = self.last_json("eval", "openbnns-model.safetensors", "--data",
                                  "synthetic-digits", "--json")
        self.assertEqual(measured["accuracy"], result["test_accuracy"])
        self.assertEqual(sum(map(sum, measured["confusion"])), measured["samples"])

    def test_every_line_of_json_output_is_json(self):
        done = self.run_program("train", *QUICK, "--json")
        self.assertEqual(len([json.loads(line) for line in done.stdout.splitlines()]), 3)
        self.assertEqual(done.stderr, "")
        quiet = self.run_program("train", *QUICK, "--json", "--quiet")
        self.assertEqual(quiet.stdout.count("\n"), 1)
        self.assertEqual(self.run_program("train", *QUICK, "--quiet").stdout, "")

    def test_plain_lines_when_not_a_terminal(self):
        text = self.run_program("train", *QUICK).stdout
        self.assertNotIn("\r", text)
        self.assertNotIn("\x1b", text)
        for word in ("epoch 1/2", "epoch 2/2", "test ", "openbnns-model.html", "recall"):
            self.assertIn(word, text)

    def test_table_of_classes(self):
        self.table("flowers.csv")
        self.run_program("train", "--data", "flowers.csv", "--epochs", "40")
        self.write("new.csv", "a,b,colour\n0.1,0.1,blue\n2.0,-1.0,red\n")
        done = self.run_program("predict", "openbnns-model.safetensors", "new.csv", "--csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([row["prediction"] for row in rows], ["no", "yes"])
        self.assertEqual([row["row"] for row in rows], ["1", "2"])
        line = self.last_json("predict", "openbnns-model.safetensors", "new.csv", "--json",
                              "--top", "1")
        self.assertEqual([one["name"] for one in line["predictions"]], ["yes"])
        text = self.run_program("predict", "openbnns-model.safetensors", "new.csv").stdout
        self.assertTrue(text.startswith("new.csv, row 1: no "), text)
        self.table("other.csv", rows=50)
        figures = self.last_json("eval", "openbnns-model.safetensors", "--data", "other.csv",
                                 "--json")
        self.assertEqual((figures["part"], figures["samples"]), ("all rows", 50))

    def test_table_of_numbers(self):
        self.table("houses.csv", rows=400, regression=True)
        result = self.last_json("train", "--data", "houses.csv", "--epochs", "40", "--json")
        self.assertGreater(result["test_r2"], 0.9)
        line = self.last_json("predict", "openbnns-model.safetensors", "houses.csv", "--json")
        self.assertEqual(list(line["values"]), ["kind"])

    def test_picture(self):
        self.run_program("train", *QUICK, "--quiet")
        self.write("black.pgm", b"P5 28 28 255\n" + bytes(784))
        line = self.last_json("predict", "openbnns-model.safetensors", "black.pgm", "--json",
                              "--top", "10")
        self.assertEqual(len(line["predictions"]), 10)
        self.assertAlmostEqual(sum(one["probability"] for one in line["predictions"]), 1, places=5)
        # One that is missing does not keep the others from being predicted.
        done = self.run_program("predict", "openbnns-model.safetensors", "none.png", "black.pgm",
                                status=6)
        self.assertIn("black.pgm: ", done.stdout)
        self.assertIn("none.png", done.stderr)

    def test_folder_of_pictures(self):
        numbers = random.Random(1)
        for name, colour in (("blue", (40, 80, 200)), ("red", (200, 80, 40))):
            os.makedirs(self.path("pictures/" + name))
            for n in range(20):
                width, height = (12, 10) if n % 2 else (10, 10)
                pixels = bytes(max(0, min(255, int(numbers.gauss(colour[i % 3], 30))))
                               for i in range(3 * width * height))
                self.write(f"pictures/{name}/{n}.ppm", b"P6 %d %d 255\n" % (width, height) + pixels)
        result = self.last_json("train", "--data", "pictures", "--image-size", "8x8", "--network",
                                "mlp", "--epochs", "20", "--batch", "8", "--json")
        self.assertEqual(result["test_accuracy"], 1)
        done = self.run_program("predict", "openbnns-model.safetensors", "pictures/red/3.ppm",
                                "pictures/blue/4.ppm", "--csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([row["prediction"] for row in rows], ["red", "blue"])

    def test_info(self):
        self.run_program("train", *QUICK, "--quiet")
        model = self.last_json("info", "openbnns-model.safetensors", "--json")
        self.assertEqual(model["kind"], "model")
        self.assertEqual(model["class_names"], list("0123456789"))
        self.assertIn("--epochs 2", model["notes"]["command line"])
        self.write("net.json", json.dumps(model["network"]))
        self.assertEqual(self.last_json("info", "net.json", "--json")["layers"], model["layers"])
        self.run_program("train", *QUICK, "--network", "net.json", "--quiet")
        checkpoint = self.last_json("info", "openbnns-model.checkpoint", "--json")
        self.assertEqual((checkpoint["kind"], checkpoint["run"]["epoch"]), ("checkpoint", 2))
        self.assertIn("multiply-adds", self.run_program("info", "net.json").stdout)

    def test_fine_tuning(self):
        self.run_program("train", *QUICK, "--quiet", "--output", "first.safetensors")
        self.run_program("train", *QUICK, "--quiet", "--from", "first.safetensors", "--freeze", "0")
        layers = self.last_json("info", "openbnns-model.safetensors", "--json")["layers"]
        self.assertEqual([layer["frozen"] for layer in layers[:2]], [True, False])

    def test_gradcheck_and_bench(self):
        result = self.last_json("gradcheck", "digits", "--json")
        self.assertEqual(result["wrong"], 0)
        self.run_program("gradcheck", "digits", "--tolerance", "0", status=8)
        speed = self.last_json("bench", "--network", "digits", "--seconds", "0.05", "--json")
        self.assertGreater(speed["training_samples_per_second"], 0)
        self.assertGreater(speed["forward_gflops"], 0)

    def test_help_and_version(self):
        for command in ("train", "eval", "predict", "info", "gradcheck", "bench"):
            self.assertIn("Examples:", self.run_program(command, "--help").stdout)
        self.assertRegex(self.run_program("--version").stdout, r"^openbnns \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
