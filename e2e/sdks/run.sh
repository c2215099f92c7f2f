#!/bin/sh
# Checks Loci with the Python SDKs of OpenAI and Anthropic, which it installs, against an
# upstream that has only chat completions: make e2e-sdks.
#   SDKS_DIR     where they are, or are to be, installed; tmp/sdks unless set
#   LOCI_BINARY  the Loci to check; built from this checkout unless set
set -eu
cd "$(dirname "$0")/../.."
dir=${SDKS_DIR:-$PWD/tmp/sdks}
openai=3.54.0
anthropic=2.12.0

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-sdks is skipped: it needs python3, which is not installed"
	exit 0
fi
mkdir -p "$dir"
if [ ! -f "$dir/venv/ready" ] && ! { python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install -q "openai==$openai" "anthropic==$anthropic" && touch "$dir/venv/ready"; }; then
	echo "e2e-sdks is skipped: the SDKs could not be installed"
	exit 0
fi
if [ -z "${LOCI_BINARY:-}" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	LOCI_BINARY=$PWD/tmp/loci-e2e
fi
"$dir/venv/bin/python" e2e/sdks/check.py "$LOCI_BINARY"
