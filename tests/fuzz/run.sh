#!/usr/bin/env bash
# Runs every fuzz target with a fixed seed, starting from its corpus, for a number of executions (so
# that every machine tries the same) or, given as "60s", for a time.
# Usage: run.sh <build-dir> <executions or seconds per target> [folder for new inputs and findings]
# OPENBNNS_FUZZ_SEED is the seed (1).
# Prints one line per target, what libFuzzer said about a finding, and a count; fails on a finding.
# A finding is replayed, with the descriptors it uses, by
#   OPENBNNS_FUZZ_SHOW=1 <build-dir>/tests/fuzz/fuzz_<target> <file>
set -u

if [ $# -lt 2 ]; then
  echo "usage: $0 <build-dir> <executions, or seconds as in 60s> [folder]" >&2
  exit 2
fi
build=$(cd "$1" && pwd) || exit 2
case $2 in
  *s) limit=-max_total_time=${2%s} ;;
  *) limit=-runs=$2 ;;
esac
seed=${OPENBNNS_FUZZ_SEED:-1}
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ge 3 ]; then
  mkdir -p "$3" || exit 2
  work=$(cd "$3" && pwd) || exit 2
else
  work=$(mktemp -d) || exit 2
fi

# <program>: runs it; its line and what it found go to $work/<target>.result. Fails on a finding.
run_target() {
  local program=$1 target=${1##*/fuzz_} result=ok status corpus=()
  local log=$work/$target.log
  mkdir -p "$work/$target" "$work/findings"
  [ -d "$here/corpus/$target" ] && corpus=("$here/corpus/$target")
  "$program" -seed="$seed" -max_len=1024 -len_control=0 -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 "$limit" -artifact_prefix="$work/findings/$target-" \
    "$work/$target" ${corpus[@]+"${corpus[@]}"} >"$log" 2>&1
  status=$?
  [ "$status" -eq 0 ] || result="FINDING, see $log"
  stat() { sed -n "s/^$1: *//p" "$log"; }
  {
    printf '%-16s %10s executions %7s/s  calls: %s  %s\n' "$target" \
      "$(stat stat::number_of_executed_units)" "$(stat stat::average_exec_per_sec)" \
      "$(stat calls)" "$result"
    [ "$status" -eq 0 ] ||
      grep -a -E -A1 'finding:|ERROR:|runtime error|Test unit written' "$log" |
        sed 's/^/    /' | head -n 20
  } >"$work/$target.result"
  return "$status"
}

# One process per core. They share nothing: what a target tries depends on the seed alone.
failed=0
passed=0
declare -A running=()
finish_one() {
  local process status
  wait -n -p process "${!running[@]}"
  status=$?
  cat "$work/${running[$process]}.result"
  unset "running[$process]"
  if [ "$status" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
for program in "$build"/tests/fuzz/fuzz_*; do
  [ ${#running[@]} -lt "$(nproc)" ] || finish_one
  run_target "$program" &
  running[$!]=${program##*/fuzz_}
done
while [ ${#running[@]} -gt 0 ]; do finish_one; done

echo "$passed passed, $failed failed"
# Logs of findings stay; those of a clean run are of no use.
[ "$failed" -ne 0 ] || [ $# -ge 3 ] || rm -rf "$work"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
