#!/bin/sh
# Runs the e2e targets of the Makefile one after the other, or those that are named, and prints
# a table of what passed: make e2e-all. Their output is in tmp/e2e-all. It fails if one fails.
set -u
cd "$(dirname "$0")/.."
logs=tmp/e2e-all
mkdir -p "$logs"
: > "$logs/table"
[ $# -gt 0 ] || set -- $(sed -n 's/^\(e2e[a-z0-9-]*\):.*/\1/p' Makefile | grep -vx e2e-all)
failed=0
for target; do
	echo "== $target"
	began=$(date +%s)
	result=passed
	if ! "${MAKE:-make}" --no-print-directory "$target" > "$logs/$target.log" 2>&1; then
		result=FAILED failed=1
		tail -n 20 "$logs/$target.log"
	elif grep -Eqi 'is skipped|are skipped|is not tried|need to be fetched' "$logs/$target.log"; then
		result="passed in part"
		grep -Eqi "^$target is skipped|need to be fetched" "$logs/$target.log" && result=skipped
	fi
	printf '%-14s  %-14s  %5s s\n' "$target" "$result" "$(($(date +%s) - began))" >> "$logs/table"
	sed -n 's/^ok: /    /p' "$logs/$target.log" >> "$logs/table"
	[ "$result" = passed ] || [ "$result" = FAILED ] || grep -Ei 'is skipped|are skipped|is not tried|need to be fetched' "$logs/$target.log" | sed 's/^/    /' >> "$logs/table"
done
echo
cat "$logs/table"
exit $failed
