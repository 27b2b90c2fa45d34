#!/usr/bin/env python3
"""Predicts how fast several ranks train: the model of docs/distributed.md.

  tools/step_cost.py --shard-ms 12.5 --parameters 421642 --shards 64

--shard-ms is what one shard takes on one rank, forward and backward: the seconds of a step of one
process, divided by its shards. Prints, for each network, the time of a step, the speed-up over one
rank and the efficiency, with 1 to 1024 ranks."""

import argparse
import math

# Latency of a message in seconds, bytes per second.
NETWORKS = {
    "one machine": (2e-6, 4e9),
    "1 Gbit Ethernet": (50e-6, 0.117e9),
    "10 Gbit Ethernet": (20e-6, 1.1e9),
    "100 Gbit InfiniBand": (2e-6, 11e9),
}
ADD = 4e9  # bytes of a gradient per second that one core adds to another one


def step(ranks, shards, shard, size, latency, bandwidth):
    """Seconds: shards of the busiest rank, the levels of the tree, the broadcast, the stop flag."""
    compute = math.ceil(shards / ranks) * shard
    depth = math.ceil(math.log2(ranks))
    tree = depth * (latency + size / bandwidth + size / ADD)
    broadcast = depth * latency + (2 if ranks > 2 else ranks - 1) * size / bandwidth
    return compute + tree + broadcast + depth * latency


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard-ms", type=float, required=True)
    parser.add_argument("--parameters", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    options = parser.parse_args()
    shard, size = options.shard_ms / 1e3, 4 * options.parameters
    for name, (latency, bandwidth) in NETWORKS.items():
        print(f"\n{name}: {latency * 1e6:g} us, {bandwidth / 1e9:g} GB/s\n")
        print("| ranks | ms per step | speed-up | efficiency |\n|---|---|---|---|")
        alone = step(1, options.shards, shard, size, latency, bandwidth)
        ranks = 1
        while ranks <= min(1024, options.shards):
            seconds = step(ranks, options.shards, shard, size, latency, bandwidth)
            print(f"| {ranks} | {seconds * 1e3:.2f} | {alone / seconds:.2f} | "
                  f"{100 * alone / seconds / ranks:.0f} % |")
            ranks *= 2


if __name__ == "__main__":
    main()
