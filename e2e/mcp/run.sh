#!/bin/sh
# Checks Loci's MCP door with the Python and JS SDKs and the public conformance suite, which it
# installs: make e2e-mcp.
#   MCP_DIR      where they are, or are to be, installed; tmp/mcp unless set
#   LOCI_BINARY  the Loci to check; built from this checkout unless set
# What cannot be installed is skipped and named.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
dir=${MCP_DIR:-$PWD/tmp/mcp}
python=2.3.0
js=1.32.2
conformance=0.2.0-alpha.11

loci=${LOCI_BINARY:-}
unset LOCI_BINARY # no setting of Loci's, which refuses it
if [ -z "$loci" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	loci=$PWD/tmp/loci-e2e
fi
mkdir -p "$dir"
data=$(mktemp -d)
log=$data/log
LOCI_API_KEY=e2e-key "$loci" serve --data "$data/loci" --addr 127.0.0.1:7393 >"$log" 2>&1 &
server=$!
trap 'code=$?; kill $server || true; [ $code = 0 ] || cat "$log"; rm -rf "$data"' EXIT
url=http://127.0.0.1:7393/mcp
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:7393/health/ready")' 2>/dev/null && break
	sleep 1
done

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-mcp: the Python SDK is skipped, it needs python3"
elif [ ! -f "$dir/venv/ready" ] && ! { python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install -q "mcp==$python" && touch "$dir/venv/ready"; }; then
	echo "e2e-mcp: the Python SDK is skipped, it could not be installed"
else
	"$dir/venv/bin/python" e2e/mcp/check.py "$loci" "$url" e2e-key
fi

# The suite needs Node 22, which npm has, too.
if ! command -v npm >/dev/null 2>&1; then
	echo "e2e-mcp: the JS SDK and the conformance suite are skipped, they need npm"
elif [ ! -f "$dir/js/ready" ] && ! { mkdir -p "$dir/js" && npm install --silent --no-fund --no-audit --prefix "$dir/js" node@22 "@modelcontextprotocol/sdk@$js" "@modelcontextprotocol/conformance@$conformance" && touch "$dir/js/ready"; }; then
	echo "e2e-mcp: the JS SDK and the conformance suite are skipped, they could not be installed"
else
	export PATH="$dir/js/node_modules/.bin:$PATH"
	(cd "$dir/js" && node "$root/e2e/mcp/check.mjs" "$loci" "$url" e2e-key)
	CONFORMANCE=$dir/js/node_modules/.bin/conformance go test -count=1 -tags conformance -run '^TestConformance$' ./internal/api/mcp
	echo "ok: @modelcontextprotocol/conformance $conformance"
fi
