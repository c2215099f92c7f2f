#!/bin/sh
# Runs clients and frameworks for OpenAI's and Anthropic's APIs, which it installs, each against a
# Loci of its own before an upstream that has only chat completions: make e2e-sdks.
#   SDKS_DIR     where they are, or are to be, installed; tmp/sdks unless set
#   LOCI_BINARY  the Loci to check; built from this checkout unless set
# What cannot be installed is skipped and named.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
dir=${SDKS_DIR:-$root/tmp/sdks}
failed=0

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-sdks is skipped: it needs python3, which is not installed"
	exit 0
fi
if [ -z "${LOCI_BINARY:-}" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	LOCI_BINARY=$root/tmp/loci-e2e
fi

# ready FOLDER INSTALL... installs packages of exact versions, unless they are there.
ready() {
	folder=$1
	shift
	done=$folder/$(echo "$*" | cksum | cut -d' ' -f1).ready
	[ -f "$done" ] && return
	rm -rf "$folder"
	mkdir -p "$folder"
	"$@" && touch "$done"
}

# check COMMAND... runs a client's script.
check() {
	python3 "$root/e2e/sdks/rig.py" "$LOCI_BINARY" "$@" || { failed=1; echo "FAILED: $*"; }
}

venv() {
	folder=$1
	shift
	python3 -m venv "$folder" && "$folder/bin/pip" install -q "$@"
}

# python NAME SCRIPT PACKAGE... runs a script beside packages that have a folder of their own.
python() {
	name=$1 script=$2
	shift 2
	if ready "$dir/$name" venv "$dir/$name" "$@"; then
		check "$dir/$name/bin/python" "$root/e2e/sdks/$script.py"
	else
		echo "e2e-sdks: $* is skipped, it could not be installed"
	fi
}

python openai3 check_openai openai==3.54.0
python openai2 check_openai openai==2.54.0
python anthropic check_anthropic anthropic==2.12.0
python langchain check_langchain langchain-openai==1.7.3
python llamaindex check_llamaindex llama-index-llms-openai==0.8.3 llama-index-llms-openai-like==0.8.1 llama-index-embeddings-openai==0.7.0
python litellm check_litellm litellm==1.106.2 mcp==2.3.0 # which it imports and does not require
python pydantic check_pydantic 'pydantic-ai-slim[openai,anthropic]==2.68.0'

packages="openai@7.57.0 @anthropic-ai/sdk@1.12.0 ai@7.0.173 @ai-sdk/openai-compatible@3.0.92 @ai-sdk/openai@4.0.118"
# shellcheck disable=SC2086 # a word for each package
if ! command -v npm >/dev/null 2>&1; then
	echo "e2e-sdks: the JavaScript clients are skipped, they need npm"
elif ! ready "$dir/js" npm install --silent --no-fund --no-audit --prefix "$dir/js" $packages; then
	echo "e2e-sdks: $packages are skipped, they could not be installed"
else
	cd "$dir/js"
	for script in openai anthropic ai; do
		check node "$root/e2e/sdks/check_$script.mjs"
	done
fi
exit $failed
