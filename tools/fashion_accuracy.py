#!/usr/bin/env python3
"""Trains lenet on Fashion-MNIST with three seeds, after 1 and after 5 epochs, and checks the mean
test accuracy. Usage: fashion_accuracy.py PROGRAM FOLDER, with the IDX files in FOLDER. Minutes."""

import json
import subprocess
import sys
import tempfile

BOUNDS = {1: 0.87, 5: 0.91}


def accuracy(program, folder, epochs, seed, output):
    done = subprocess.run(
        [program, "train", "--data", folder, "--network", "lenet", "--epochs", str(epochs),
         "--seed", str(seed), "--output", output, "--json", "--quiet"],
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])["test_accuracy"]


def main():
    program, folder = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        for epochs, bound in BOUNDS.items():
            found = [accuracy(program, folder, epochs, seed, temporary + "/model.safetensors")
                     for seed in (1, 2, 3)]
            mean = sum(found) / len(found)
            failed |= mean < bound
            print(f"{epochs} epochs: test accuracy {found}, mean {mean:.4f}, at least {bound}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
