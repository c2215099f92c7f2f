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
row "Go lines of the main module, budget" "$(awk '$1 == "total" {print $2}' internal/arch/budget.txt)"
row "largest package, by files" "$(echo "$main" | xargs dirname | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2 ", " $1}')"

# Each package, largest first: its lines and its budget of lines and tokens.
echo
echo "$main" | xargs wc -l | awk '
	NR == FNR { if ($1 !~ /^(#|type:|total)/) budget[$1] = $2 " lines, " $3 " tokens"; next }
	$2 != "total" { dir = $2; if (!sub("/[^/]*$", "", dir)) dir = "."; sum[dir] += $1 }
	END { for (dir in sum) printf "%-46s %6d  of %s\n", dir, sum[dir], budget[dir] }' internal/arch/budget.txt - | sort -k2,2nr
grep '^type:' internal/arch/budget.txt | awk '{printf "%-46s %d methods, %d fields\n", $1, $2, $3}'
echo

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
