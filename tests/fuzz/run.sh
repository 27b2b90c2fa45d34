#!/usr/bin/env bash
# Runs every fuzz target with a fixed seed, starting from its corpus, for a number of executions (so
# that every machine tries the same) or, given as "60s", for a time.
# Usage: run.sh <build-dir> <executions or seconds per target> [folder for new inputs and findings]
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
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ge 3 ]; then
  mkdir -p "$3" || exit 2
  work=$(cd "$3" && pwd) || exit 2
else
  work=$(mktemp -d) || exit 2
fi

passed=0
failed=0
for program in "$build"/tests/fuzz/fuzz_*; do
  target=${program##*/fuzz_}
  log=$work/$target.log
  mkdir -p "$work/$target" "$work/findings"
  corpus=()
  [ -d "$here/corpus/$target" ] && corpus=("$here/corpus/$target")
  "$program" -seed=1 -max_len=1024 -len_control=0 -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 "$limit" -artifact_prefix="$work/findings/$target-" \
    "$work/$target" ${corpus[@]+"${corpus[@]}"} >"$log" 2>&1
  status=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  calls=$(sed -n 's/^calls: //p' "$log")
  result=ok
  if [ "$status" -ne 0 ]; then
    result="FINDING, see $log"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
  printf '%-16s %10s executions %7s/s  calls: %s  %s\n' "$target" "${executions:-0}" "${rate:-0}" \
    "${calls:-unknown}" "$result"
  if [ "$status" -ne 0 ]; then
    grep -a -E -A1 'finding:|ERROR:|runtime error|Test unit written' "$log" |
      sed 's/^/    /' | head -n 20
  fi
done

echo "$passed passed, $failed failed"
# Logs of findings stay; those of a clean run are of no use.
[ "$failed" -ne 0 ] || [ $# -ge 3 ] || rm -rf "$work"
[ "$failed" -eq 0 ]
