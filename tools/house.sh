#!/bin/sh
# Prints how large the house is. It never fails: the limits are tested in internal/arch.
set -eu
cd "$(dirname "$0")/.."

files() { git ls-files -co --exclude-standard -- "$@"; }
row() { printf '%-46s %s\n' "$1" "$2"; }
lines() { xargs -r cat | wc -l | tr -d ' '; }

modules=$(files '*go.mod' | grep -v testdata | sed 's,/*go\.mod$,,; s,^$,.,')
# of prints the Go files of one module that are not tests. Only the module at the root has others in it.
others=$(echo "$modules" | grep -vx '\.' | sed 's,.*,^&/,')
of() {
	files '*.go' | grep -v -e '_test\.go$' -e '/testdata/' | if [ "$1" = . ]; then grep -v "$others"; else grep "^$1/"; fi
}

for module in $modules; do
	row "Go lines without tests, module $module" "$(of "$module" | lines)"
done
main=$(of .)
row "Go lines of tests, all modules" "$(files '*_test.go' | grep -v /testdata/ | lines)"

# Methods of each type: the receiver's name, in its folder.
row "largest type, by methods" "$(echo "$main" | xargs grep -H -oE '^func \([A-Za-z0-9_]* ?\*?[A-Za-z0-9_]+' |
	sed -E 's,/[^/:]+:func \(([A-Za-z0-9_]+ )?\*?,.,' | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2 ", " $1}')"
row "largest package, by files" "$(echo "$main" | xargs dirname | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2 ", " $1}')"
row "largest package, by lines" "$(echo "$main" | xargs wc -l | awk '$2 != "total" {
	n = split($2, part, "/"); dir = part[1]; for (i = 2; i < n; i++) dir = dir "/" part[i]; if (n == 1) dir = "."; sum[dir] += $1
} END {for (dir in sum) if (sum[dir] > most) {most = sum[dir]; at = dir}; print at ", " most}')"

root=$(files '*.go' | grep -v -e / -e '_test\.go$')
row "root package, files" "$(echo "$root" | wc -l | tr -d ' ')"
row "root package, lines" "$(echo "$root" | lines)"
row "README, lines" "$(wc -l < README.md | tr -d ' ')"
row "README, longest line" "$(awk '{if (length($0) > most) most = length($0)} END {print most}' README.md)"
row "all docs, words of Markdown" "$(files 'docs/*.md' | xargs -r cat | wc -w | tr -d ' ')"
for dir in docs/guide docs/reference docs/design docs/measurements; do
	[ -d "$dir" ] && row "$dir, words of Markdown" "$(files "$dir/*.md" | xargs -r cat | wc -w | tr -d ' ')"
done
exit 0
