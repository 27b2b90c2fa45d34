#!/usr/bin/env python3
"""Compares two JSON files of openbnns_bench.

    compare.py OLD NEW [--who NAME] [--all]

Prints old / new for every row both files have: above 1 the new one is faster. A change inside the
spread of the two medians is marked "~". By default only "ours" is shown; --all shows everybody,
which tells a change of ours from a change of the machine.
"""

import argparse
import json
import math
import sys


def load(path):
    """Maps (family, workload, op, threads, who) to (median, spread, mostly disturbed), in ns."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    times = {}
    for r in data["rows"]:
        for x in r["results"]:
            key = (r["family"], r["workload"], r["op"], r["threads"], x["who"])
            mostly_disturbed = 2 * x["disturbed"] > x["samples"]
            times[key] = (x["median_ns"], x["spread_ns"], mostly_disturbed)
    return times


def duration(ns):
    for limit, factor, unit in ((1e3, 1, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if ns < limit:
            return f"{ns / factor:.4g} {unit}"
    return f"{ns / 1e9:.4g} s"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--who", default="ours", help="whose times to compare (ours)")
    parser.add_argument("--all", action="store_true", help="everybody's times")
    args = parser.parse_args()

    old, new = load(args.old), load(args.new)
    keys = [k for k in old if k in new and (args.all or k[4] == args.who)]
    if not keys:
        sys.exit("the two files have no row in common")
    ratios = []
    print(f"{'row':44} {'thr':>3}  {'who':16} {'old':>10} {'new':>10}  old/new")
    for key in keys:
        family, workload, op, threads, who = key
        (before, spread_before, old_noisy), (after, spread_after, new_noisy) = old[key], new[key]
        inside = abs(before - after) <= math.hypot(spread_before, spread_after)
        mark = (" ~" if inside else "") + (" disturbed" if old_noisy or new_noisy else "")
        ratios.append(before / after)
        print(
            f"{f'{family}/{workload}/{op}':44} {threads:3}  {who:16} {duration(before):>10} "
            f"{duration(after):>10}  {before / after:6.3f}{mark}"
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)} rows: {mean:.3f}")


if __name__ == "__main__":
    main()
