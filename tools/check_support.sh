#!/usr/bin/env bash
# Checks that docs/support.md is what the spec runner of a build prints.
# Usage: check_support.sh BUILD_DIR
# To bring it up to date: BUILD_DIR/spec/openbnns_spec support > docs/support.md
set -u
if [ $# -ne 1 ]; then
  echo "usage: $0 BUILD_DIR" >&2
  exit 2
fi
runner=$(cd "$1" && pwd)/spec/openbnns_spec || exit 2
cd "$(dirname "$0")/.." || exit 2
table=docs/support.md
if [ ! -x "$runner" ]; then
  echo "$table:1: $runner does not exist; build it first" >&2
  exit 2
fi
if [ ! -f "$table" ]; then
  echo "$table:1: does not exist"
  exit 1
fi
printed=$(mktemp) || exit 2
trap 'rm -f "$printed"' EXIT
"$runner" support >"$printed" || exit 2
diff --unchanged-line-format= --old-line-format="$table:%dn: not printed: %L" \
  --new-line-format="$table:%dn: missing: %L" "$table" "$printed"
