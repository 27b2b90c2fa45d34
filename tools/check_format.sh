#!/usr/bin/env bash
# Reports the C and C++ files that clang-format 14 would change. Other versions format differently,
# so none of them will do; without version 14 the check fails rather than passing unseen.
# Usage: check_format.sh [FILE...]   (default: all of src include spec tests bench examples)
set -u
cd "$(dirname "$0")/.." || exit 2

format=
for candidate in clang-format-14 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
    format=$candidate
    break
  fi
done
if [ -z "$format" ]; then
  echo "tools/check_format.sh:1: clang-format 14 is not installed" >&2
  exit 2
fi

if [ $# -eq 0 ]; then
  mapfile -t files < <(find src include spec tests bench examples -type f \
    \( -name '*.c' -o -name '*.cpp' -o -name '*.h' -o -name '*.hpp' \) | LC_ALL=C sort)
else
  files=("$@")
fi

# One process for all files: one for each takes six times as long.
report=$("$format" --dry-run --Werror "${files[@]}" 2>&1) && exit 0
printf '%s\n' "$report" | grep -E 'error:|No such file' |
  sed 's/:[0-9]*: error: code should be clang-formatted.*/: not formatted/' | uniq
exit 1
