#!/bin/sh
# Runs agent frameworks and command-line clients, which it installs, each against a Loci of its own, and checks that only the
# person's words teach: make e2e-frameworks.
#   FRAMEWORKS      some of the first words of requirements.txt; all unless set
#   FRAMEWORKS_DIR  where they are, or are to be, installed; tmp/frameworks unless set
#   LOCI_BINARY     the Loci to check; built from this checkout unless set
#   RECORDS         a folder for the requests of each: NAME.json whole, NAME.jsonl without long templates; none unless set
# What cannot be installed is skipped and named.
set -eu
cd "$(dirname "$0")/../.."
here=$PWD/e2e/frameworks
dir=${FRAMEWORKS_DIR:-$PWD/tmp/frameworks}
export PYTHONDONTWRITEBYTECODE=1

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-frameworks is skipped: it needs python3, which is not installed"
	exit 0
fi
if [ -z "${LOCI_BINARY:-}" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	LOCI_BINARY=$PWD/tmp/loci-e2e
fi

# ready NAME PACKAGE... installs packages beside each other, unless they are there.
ready() {
	venv=$dir/$1
	shift
	done=$venv/$(echo "$*" | cksum | cut -d' ' -f1).ready
	[ -f "$done" ] && return
	rm -rf "$venv"
	mkdir -p "$dir"
	python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check "$@" && touch "$done"
}

found=
while read -r name packages; do
	case " ${FRAMEWORKS:-$name} " in *" $name "*) ;; *) continue ;; esac
	[ "$name" != "#" ] || continue
	# shellcheck disable=SC2086 # a word for each package
	if ready "$name" $packages </dev/null; then
		found="$found $name"
	else
		echo "e2e-frameworks: $name is skipped, $packages could not be installed"
	fi
done <"$here/requirements.txt"
# shellcheck disable=SC2086 # a word for each framework
exec python3 "$here/check.py" "$LOCI_BINARY" "$dir" $found
