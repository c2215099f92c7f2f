#!/bin/sh
# Installs what the tests need beyond Go, from the system's packages. What cannot be
# installed is said and noted in tmp/skipped by the step that misses it.
set -u

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

# The race detector links with a C compiler; without one the tests run without it.
if ! command -v "$(go env CC)" >/dev/null 2>&1; then
	if can_install; then
		echo "== installing a C compiler for the race detector"
		(apt-get update -qq && apt-get install -y -qq gcc libc6-dev) >/dev/null || echo "  it could not be installed"
	else
		echo "== no C compiler, and no right to install one"
	fi
fi
# Tests of chroma.url talk to a real server, some 500 MB from PyPI.
if [ ! -x tmp/chroma/bin/chroma ]; then
	echo "== installing a Chroma server for its tests"
	{ python3 -m venv tmp/chroma && tmp/chroma/bin/pip install --quiet --disable-pip-version-check -r tools/chroma.txt; } >tmp/chroma.log 2>&1 ||
		echo "  it could not be installed: $(tail -n 1 tmp/chroma.log)"
fi
# A real Prometheus tries the dashboard and the alerts, a real Caddy docs/guide/operations.md.
for program in prometheus caddy; do
	if ! command -v $program >/dev/null 2>&1 && can_install; then
		echo "== installing $program for its tests"
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $program) >/dev/null 2>&1 ||
			echo "  it could not be installed"
		# The tests start their own; Debian's would run beside them.
		if command -v systemctl >/dev/null 2>&1; then systemctl disable --now $program >/dev/null 2>&1 || :; fi
	fi
done
exit 0
