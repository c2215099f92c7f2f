#!/bin/sh
# Signs in to Loci's page at a real OpenID Connect issuer, which it installs: make e2e-sso.
#   SSO_DIR      where it is, or is to be, installed; tmp/sso unless set
#   LOCI_BINARY  the Loci to check; built from this checkout unless set
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
dir=${SSO_DIR:-$PWD/tmp/sso}
provider=9.13.3

loci=${LOCI_BINARY:-}
unset LOCI_BINARY # no setting of Loci's, which refuses it
if [ -z "$loci" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	loci=$PWD/tmp/loci-e2e
fi
mkdir -p "$dir"
if ! command -v npm >/dev/null 2>&1; then
	echo "e2e-sso: skipped, it needs npm"
	exit 0
fi
if [ ! -d "$dir/node_modules/oidc-provider" ] && ! npm install --silent --no-audit --no-fund --prefix "$dir" "oidc-provider@$provider"; then
	echo "e2e-sso: skipped, oidc-provider could not be installed"
	exit 0
fi
cp e2e/sso/*.mjs "$dir"
data=$(mktemp -d)
log=$data/log
node "$dir/issuer.mjs" 7396 http://127.0.0.1:7397 >"$data/issuer" 2>&1 &
issuer=$!
LOCI_API_KEY=e2e-key-0123456789 LOCI_USERS=multi LOCI_SSO_ISSUER=http://127.0.0.1:7396 LOCI_SSO_CLIENT_ID=loci LOCI_SSO_CLIENT_SECRET=issuer-secret-0123456789 \
	LOCI_SSO_ADMINS=group:operators "$loci" serve --data "$data/loci" --addr 127.0.0.1:7397 >"$log" 2>&1 &
server=$!
trap 'code=$?; kill $server $issuer || true; [ $code = 0 ] || cat "$log" "$data/issuer"; rm -rf "$data"' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	node -e 'fetch("http://127.0.0.1:7397/health/ready").then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))' && grep -q ready "$data/issuer" && break
	sleep 1
done
cd "$root"
node "$dir/check.mjs" http://127.0.0.1:7397 e2e-key-0123456789
