"""The program under mpirun: any number of ranks writes the same files, ranks that differ are named,
and a rank that is killed ends the job soon and leaves whole files. With a number as its argument it
kills that many jobs (5)."""

import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from support import PROGRAM, ProgramTest

MPIRUN = shutil.which("mpirun")
ENVIRONMENT = {**os.environ, "TERM": "dumb", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
KILLS = 5
# Batch normalization, dropout, augmentation, an uneven last batch, clipping.
NETWORK = """{"input": [28, 28], "layers": [
  {"layer": "convolution", "channels": 8, "kernel": 3}, {"layer": "batch_norm"}, {"layer": "relu"},
  {"layer": "max_pool", "kernel": 2}, {"layer": "flatten"}, {"layer": "dropout", "rate": 0.2},
  {"layer": "fully_connected", "outputs": 10}]}"""
TRAIN = ["train", "--data", "synthetic-digits:1000", "--network", "net.json", "--batch", "48",
         "--shards", "8", "--augment-shift", "2", "--clip-norm", "1", "--threads", "1",
         "--epochs", "3"]


@unittest.skipUnless(MPIRUN, "there is no mpirun")
class Ranks(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("net.json", NETWORK)

    def command(self, ranks, *arguments):
        return [MPIRUN, "-n", str(ranks), "--oversubscribe", "--bind-to", "none", *arguments]

    def mpirun(self, *command, status=0):
        done = subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True,
                              timeout=120, env=ENVIRONMENT)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def files(self):
        return [self.read("openbnns-model" + ending) for ending in (".safetensors", ".checkpoint")]

    def test_any_number_of_ranks_writes_the_same_files(self):
        self.run_program(*TRAIN)
        alone = self.files()
        for ranks in (1, 2, 3, 4):
            os.remove(self.path("openbnns-model.checkpoint"))
            done = self.mpirun(*self.command(ranks, PROGRAM, *TRAIN))
            self.assertEqual(done.stdout.count("epoch 1/3"), 1, done.stdout)
            self.assertIn(f"8 shards on {ranks} ranks", done.stdout)
            self.assertEqual(self.files(), alone, f"{ranks} ranks")

    def test_shards_must_be_given(self):
        arguments = [a for a in TRAIN if a not in ("--shards", "8")]
        done = self.mpirun(*self.command(2, PROGRAM, *arguments), status=2)
        self.assertEqual(done.stderr.count("openbnns: --shards must be given"), 1, done.stderr)

    def test_a_launcher_that_mpi_cannot_talk_to_is_an_error(self):
        done = self.run_program(*TRAIN, status=2, env={"PMI_RANK": "1", "PMI_SIZE": "2"})
        self.assertIn("openbnns: PMI_SIZE says that 2 processes were started, and MPI finds 1",
                      done.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["net.json"])

    def test_an_empty_name_of_the_plugin_is_none(self):
        self.mpirun(*self.command(1, "env", "OPENBNNS_MPI_PLUGIN=", PROGRAM, *TRAIN[:-1], "1"))

    def test_a_rank_with_other_shards_ends_the_job(self):
        position = TRAIN.index("--shards")
        without = TRAIN[:position] + TRAIN[position + 2:]
        done = self.mpirun(*self.command(1, PROGRAM, *TRAIN), ":", "-n", "1", PROGRAM, *without,
                           "--shards", "1", status=2)
        self.assertEqual(done.stderr.count("openbnns: "), 1, done.stderr)
        self.assertIn("shards is 8 on rank 0 and 1 on rank 1", done.stderr)
        done = self.mpirun(*self.command(1, PROGRAM, *TRAIN), ":", "-n", "1", PROGRAM, *without,
                           status=2)
        self.assertIn("openbnns: rank 1: --shards must be given", done.stderr)

    def test_a_rank_with_other_options_is_named_once(self):
        done = self.mpirun(*self.command(2, PROGRAM, *TRAIN), ":", "-n", "1", PROGRAM, *TRAIN,
                           "--seed", "4", status=2)
        self.assertEqual(done.stderr.count("openbnns: "), 1, done.stderr)
        self.assertIn("the ranks differ: seed is 1 on rank 0 and 4 on rank 2", done.stderr)
        for option, name, value, other in (("--test", "test fraction", 0.1, 0.2),
                                           ("--validation", "validation fraction", 0.1, 0.05)):
            self.assertEqual(self.difference(TRAIN, [*TRAIN, option, str(other)]),
                             f"openbnns: the ranks differ: {name} is {value} on rank 0 and {other} "
                             "on rank 1")

    def digits(self, folder, samples, test_samples, change=None):
        """Files like MNIST's; `change` may alter the pictures of the training part."""
        numbers = random.Random(1)
        os.makedirs(self.path(folder))
        for part, count in (("train", samples), ("t10k", test_samples)):
            pictures = bytearray(numbers.randbytes(count * 784))
            if change and part == "train":
                change(pictures)
            if count:
                self.write(f"{folder}/{part}-images-idx3-ubyte",
                           struct.pack(">IIII", 0x803, count, 28, 28) + pictures)
                self.write(f"{folder}/{part}-labels-idx1-ubyte",
                           struct.pack(">II", 0x801, count) + bytes(n % 10 for n in range(count)))

    def difference(self, first, second):
        """What ranks with these arguments say."""
        done = self.mpirun(*self.command(1, PROGRAM, *first), ":", "-n", "1", PROGRAM, *second,
                           status=2)
        self.assertEqual(done.stderr.count("openbnns: "), 1, done.stderr)
        return next(line for line in done.stderr.splitlines() if line.startswith("openbnns: "))

    def test_other_test_data_is_named_before_training(self):
        self.digits("all", 100, 20)
        self.digits("less", 100, 13)
        self.digits("none", 100, 0)
        mine = ["train", "--data", "all", "--network", "mlp", "--shards", "2", "--test", "0",
                "--quiet"]
        for other, count in (("less", 13), ("none", 0)):
            self.assertEqual(self.difference(mine, [*mine[:2], other, *mine[3:]]),
                             "openbnns: the ranks differ: test samples is 20 on rank 0 and "
                             f"{count} on rank 1")

    def test_a_checkpoint_of_another_run_is_refused_once(self):
        arguments = ["train", "--data", "synthetic-digits:200", "--network", "mlp", "--shards", "3",
                     "--epochs", "1"]
        self.run_program(*arguments)
        done = self.mpirun(*self.command(3, PROGRAM, *arguments, "--learning-rate", "0.5",
                                         "--resume"), status=5)
        self.assertEqual(done.stderr.count("openbnns: "), 1, done.stderr)
        self.assertIn("openbnns: rank 0: openbnns-model.checkpoint: it is the checkpoint of "
                      "another run: learning rate was 0.001, and is 0.5 now", done.stderr)

    def test_all_that_names_the_target_names_that_of_the_ranks(self):
        # A build for one target has no other; the two below are the same then.
        arguments = ["train", "--data", "synthetic-digits:200", "--network", "mlp", "--shards", "2",
                     "--epochs", "1"]
        done = self.mpirun(*self.command(1, PROGRAM, *arguments), ":", "-n", "1", "env",
                           "OPENBNNS_TARGET=sse4", PROGRAM, *arguments)
        checkpoint = self.read("openbnns-model.checkpoint")
        header = json.loads(checkpoint[8:8 + int.from_bytes(checkpoint[:8], "little")])
        target = json.loads(header["__metadata__"]["run"])["target"]
        self.assertIn(f", seed 1, {target}, 2 shards on 2 ranks", done.stdout)
        self.assertRegex(self.read("openbnns-model.html").decode(),
                         r"Vector instructions(<[^>]*>|\s)*" + target + "<")

    def test_one_black_picture_is_named(self):
        def change(pictures):
            pictures[57 * 784:58 * 784] = bytes(784)
        self.digits("all", 300, 20)
        self.digits("other", 300, 20, change)
        mine = ["train", "--data", "all", "--network", "mlp", "--shards", "2", "--quiet"]
        self.assertIn("the ranks differ: training checksum is ",
                      self.difference(mine, [*mine[:2], "other", *mine[3:]]))

    def test_a_rank_that_fails_says_so_and_ends_the_others(self):
        other = ["train", "--data", "nothing.csv", "--shards", "8"]
        done = self.mpirun(*self.command(1, PROGRAM, *TRAIN), ":", "-n", "1", PROGRAM, *other,
                           status=6)
        self.assertIn("openbnns: rank 1: nothing.csv", done.stderr)

    def rank_processes(self, job):
        """The programs that mpirun started."""
        found = subprocess.run(["pgrep", "-P", str(job)], capture_output=True, text=True)
        return [int(word) for word in found.stdout.split()]

    def test_a_killed_rank_ends_the_job_and_resume_goes_on(self):
        self.run_program(*TRAIN)
        whole = self.files()
        numbers = random.Random(5)
        for round_ in range(KILLS):
            for ending in (".safetensors", ".checkpoint"):
                os.remove(self.path("openbnns-model" + ending))
            ranks = numbers.choice((2, 3, 4))
            job = subprocess.Popen(self.command(ranks, PROGRAM, *TRAIN), cwd=self.folder.name,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT)
            for line in job.stdout:  # until there is a checkpoint
                if line.startswith("epoch 1/"):
                    break
            time.sleep(numbers.random() * 0.3)
            victims = self.rank_processes(job.pid)
            with contextlib.suppress(ProcessLookupError):  # the job may be over
                if victims:
                    os.kill(numbers.choice(victims), signal.SIGKILL)
            killed = time.monotonic()
            _, errors = job.communicate(timeout=30)
            self.assertLess(time.monotonic() - killed, 10)
            if job.returncode != 0:
                self.assertIn("killed", errors.lower(), f"round {round_}")
            resume = ["--resume"] if os.path.exists(self.path("openbnns-model.checkpoint")) else []
            self.mpirun(*self.command(5 - ranks, PROGRAM, *TRAIN, *resume))
            self.assertEqual([self.tensors("openbnns-model" + ending)
                              for ending in (".safetensors", ".checkpoint")],
                             [content[8 + int.from_bytes(content[:8], "little"):]
                              for content in whole], f"round {round_}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        KILLS = int(sys.argv.pop(1))
    unittest.main()
