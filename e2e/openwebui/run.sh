#!/bin/sh
# Installs Open WebUI and checks Loci against it: make e2e-openwebui.
#   OPENWEBUI_VENV  where it is, or is to be, installed; tmp/openwebui unless set
#   LOCI_BINARY     the Loci to check; built from this checkout unless set
# The argument picture takes docs/page/openwebui.png instead. Other arguments go to check.py: sh e2e/openwebui/run.sh ProxyTest.test_row03_temporary_chat_leaves_nothing
set -eu
cd "$(dirname "$0")/../.."
version=0.12.4
venv=${OPENWEBUI_VENV:-$PWD/tmp/openwebui}

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-openwebui is skipped: it needs python3 (3.11 or 3.12), which is not installed"
	exit 0
fi
if [ ! -x "$venv/bin/open-webui" ]; then
	echo "== installing Open WebUI $version in $venv (7 GB)"
	mkdir -p "$(dirname "$venv")"
	if ! { python3 -m venv "$venv" && "$venv/bin/pip" install -q uv && "$venv/bin/uv" pip install -q --python "$venv/bin/python" "open-webui==$version"; }; then
		echo "e2e-openwebui is skipped: Open WebUI could not be installed; it needs PyPI, and Python 3.11 or 3.12"
		exit 0
	fi
fi
if [ -z "${LOCI_BINARY:-}" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	LOCI_BINARY=$PWD/tmp/loci-e2e
fi
export LOCI_BINARY OPENWEBUI_VENV="$venv"
[ "${1:-}" != picture ] || exec python3 e2e/openwebui/picture.py docs/page/openwebui.png
python3 deploy/openwebui/loci_filter_test.py
exec python3 e2e/openwebui/check.py "$@"
