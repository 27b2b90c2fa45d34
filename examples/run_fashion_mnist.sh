#!/usr/bin/env bash
# Unpacks the Fashion-MNIST files of a folder into a temporary one and runs a program on them.
# Usage: run_fashion_mnist.sh PROGRAM FOLDER
set -euo pipefail
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
for file in "$2"/*-ubyte.gz; do
  gunzip --stdout "$file" >"$unpacked/$(basename "$file" .gz)"
done
"$1" "$unpacked"
