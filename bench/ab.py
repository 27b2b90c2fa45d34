#!/usr/bin/env python3
"""Compares two builds of the library with openbnns_bench, in alternating runs.

    ab.py A.so B.so [--only LIST] [--rounds N] [--threads N] [--reps N] [--bench PROGRAM]

A round runs the benchmark once with each library, in an order that changes from round to round, so
that a slow change of the machine's speed hits both. The time of a row in a run is that of its
fastest sample, as whatever else the machine does only adds to it. The ratio of a row is the median
over the rounds of time(B) / time(A): below 1, B is faster. Rows that moved by more than 5 % are
marked with "*". The columns A and B give the fastest sample of all rounds; on a busy machine their
quotient is steadier than the ratio. The last lines give the geometric mean of each family.

The library is loaded with LD_PRELOAD, which outlives the restart of openbnns_bench; that the
program then uses this file and no other libopenbnns is checked before the first round. Other
variables, such as OPENBNNS_TARGET=avx2, reach the benchmark as they are.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MOVED = 0.05


def environment(library):
    return {**os.environ, "LD_PRELOAD": str(library)}


def require_loaded(bench, library):
    """The dynamic loader lists what it would load, as it does for ldd."""
    listing = subprocess.run(
        [bench],
        env={**environment(library), "LD_TRACE_LOADED_OBJECTS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loaded = [line.strip().split(" (")[0] for line in listing.splitlines()]
    others = [entry for entry in loaded if entry.startswith("libopenbnns")]
    if str(library) not in loaded or others:
        sys.exit(f"{bench} does not use {library} alone; the loader says:\n{listing}")
    print(f"loaded: {library}")


def run(bench, library, args):
    """Maps (family, "workload/op", who) to ns, and whether every sample was disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        command = [bench, "--threads", str(args.threads), "--reps", str(args.reps), "--json", out]
        if args.only:
            command += ["--only", args.only]
        done = subprocess.run(command, env=environment(library), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} with {library} failed:\n{done.stdout}{done.stderr}")
        with open(out, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    return {
        (row["family"], f"{row['workload']}/{row['op']}", result["who"]): (
            result["min_ns"],
            result["disturbed"] == result["samples"],
        )
        for row in rows
        for result in row["results"]
        if result["who"].startswith("ours")
    }


def measure(bench, libraries, args):
    """One pair (times with A, times with B) per round."""
    rounds = []
    for number in range(args.rounds):
        times = [None, None]
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            times[which] = run(bench, libraries[which], args)
        rounds.append(times)
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
    return rounds


def print_table(rounds):
    print(f"{'row':52} {'who':12} {'A us':>10} {'B us':>10} {'B/A':>7}  quartiles")
    families = {}
    for key in rounds[0][0]:
        pairs = [(a[key], b[key]) for a, b in rounds if key in a and key in b]
        if len(pairs) != len(rounds):
            print(f"{key}: not in all runs", file=sys.stderr)
            continue
        ratios = [b[0] / a[0] for a, b in pairs]
        ratio = statistics.median(ratios)
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        family, name, who = key
        families.setdefault(family, []).append(ratio)
        noisy = sum(a[1] or b[1] for a, b in pairs) * 2 > len(pairs)
        times = [min(pair[which][0] for pair in pairs) / 1e3 for which in (0, 1)]
        print(
            f"{f'{family} {name}':52} {who:12} {times[0]:10.2f} {times[1]:10.2f} {ratio:7.3f}"
            f"  {low:.3f}-{high:.3f}{' *' if abs(ratio - 1) > MOVED else ''}"
            f"{' disturbed' if noisy else ''}"
        )
    for family, ratios in families.items():
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"geometric mean of {len(ratios)} rows of {family}: {mean:.3f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("a", type=pathlib.Path)
    parser.add_argument("b", type=pathlib.Path)
    parser.add_argument("--only", help="rows, as openbnns_bench takes them")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5, help="samples of a row in a run (5)")
    parser.add_argument(
        "--bench",
        default="build/release/bench/openbnns_bench",
        help="a build with -DOPENBNNS_BENCH_PEERS=NONE (build/release/bench/openbnns_bench)",
    )
    args = parser.parse_args()
    if min(args.rounds, args.threads, args.reps) < 1:
        parser.error("--rounds, --threads and --reps are at least 1")
    libraries = [args.a.resolve(strict=True), args.b.resolve(strict=True)]
    bench = str(pathlib.Path(args.bench).resolve(strict=True))
    for library in libraries:
        require_loaded(bench, library)
    if libraries[0].read_bytes() == libraries[1].read_bytes():
        print("A and B are equal: what follows is the noise", file=sys.stderr)
    print_table(measure(bench, libraries, args))


if __name__ == "__main__":
    main()
