#!/usr/bin/env bash
# Runs two programs and fails unless both succeed and print the same.
# Usage: same_output.sh PROGRAM PROGRAM
set -euo pipefail
first=$("$1")
second=$("$2")
echo "$first"
[ -n "$first" ] && [ "$first" = "$second" ]
