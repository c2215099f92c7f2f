#!/bin/sh
# Calls each method of mem0's clients for Python and JavaScript, which it installs, against Loci
# for several users and for one: make e2e-mem0.
#   MEM0_CLIENTS  where they are, or are to be, installed; tmp/mem0 unless set
#   LOCI_BINARY   the Loci to check; built from this checkout unless set
# What cannot be installed is skipped and named.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
dir=${MEM0_CLIENTS:-$PWD/tmp/mem0}
python=2.2.1
js=3.3.1

loci=${LOCI_BINARY:-}
unset LOCI_BINARY # no setting of Loci's, which refuses it
if [ -z "$loci" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	loci=$PWD/tmp/loci-e2e
fi
mkdir -p "$dir"
data=$(mktemp -d)
servers=
trap 'code=$?; kill $servers || true; [ $code = 0 ] || cat "$data"/*.log; rm -rf "$data"' EXIT
for users in multi single; do
	port=7394
	[ $users = single ] && port=7395
	LOCI_API_KEY=e2e-key LOCI_USERS=$users "$loci" serve --data "$data/$users" --addr 127.0.0.1:$port >"$data/$users.log" 2>&1 &
	servers="$servers $!"
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		curl -fs "http://127.0.0.1:$port/health/ready" >/dev/null && break
		sleep 1
	done
done
# The clients report to their maker, and keep a file in the home folder, unless told otherwise.
export MEM0_TELEMETRY=false MEM0_DIR="$data/mem0"
urls="http://127.0.0.1:7394 http://127.0.0.1:7394/mem0 http://127.0.0.1:7395"

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-mem0: the Python client is skipped, it needs python3"
elif [ ! -f "$dir/venv/ready" ] && ! { python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install -q "mem0ai==$python" && touch "$dir/venv/ready"; }; then
	echo "e2e-mem0: the Python client is skipped, it could not be installed"
else
	"$dir/venv/bin/python" e2e/mem0/check.py e2e-key $urls
fi

if ! command -v npm >/dev/null 2>&1; then
	echo "e2e-mem0: the JavaScript client is skipped, it needs npm"
elif [ ! -f "$dir/js/ready" ] && ! { mkdir -p "$dir/js" && npm install --silent --no-fund --no-audit --ignore-scripts --legacy-peer-deps --prefix "$dir/js" "mem0ai@$js" && touch "$dir/js/ready"; }; then
	echo "e2e-mem0: the JavaScript client is skipped, it could not be installed"
else
	(cd "$dir/js" && node "$root/e2e/mem0/check.mjs" e2e-key $urls)
fi
