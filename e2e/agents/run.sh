#!/bin/sh
# Installs eight coding agents and checks Loci against them: make e2e-agents.
# The hooks of Codex and Claude Code are checked by hooks.sh, seven agents behind the proxy by check.py.
#   AGENTS_DIR   where they are, or are to be, installed; tmp/agents unless set
#   AGENTS       which to run, by the names below; all unless set
#   CHAT_ONLY    not empty: the model's server has only chat completions
#   LOCI_BINARY  the Loci to check; built from this checkout unless set
# An agent that cannot be installed is skipped and named. Arguments go to check.py.
set -eu
cd "$(dirname "$0")/../.."
dir=${AGENTS_DIR:-$PWD/tmp/agents}
: "${AGENTS:=codex opencode aider qwen cn cline pi claude}"

if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e-agents is skipped: it needs python3, which is not installed"
	exit 0
fi

# npm_agent NAME PACKAGE installs a package into a folder of its own.
npm_agent() {
	[ -x "$dir/$1/bin/$1" ] && return
	command -v npm >/dev/null 2>&1 || return 1
	mkdir -p "$dir/$1" && (cd "$dir/$1" && npm install --silent --no-fund --no-audit --prefix "$dir/$1" "$2") &&
		mkdir -p "$dir/$1/bin" && ln -s "../node_modules/.bin/$1" "$dir/$1/bin/$1" && [ -x "$dir/$1/bin/$1" ]
}

install() {
	case $1 in
	codex) npm_agent codex @openai/codex@0.169.0 ;;
	opencode) npm_agent opencode opencode-ai@1.18.33 ;;
	qwen) npm_agent qwen @qwen-code/qwen-code@0.15.10 ;;
	cn) npm_agent cn @continuedev/cli@1.5.47 ;;
	cline) npm_agent cline cline@3.0.65 ;;
	claude) npm_agent claude @anthropic-ai/claude-code@2.1.197 ;;
	pi) npm_agent pi @mariozechner/pi-coding-agent@0.73.1 ;;
	aider) [ -x "$dir/aider/bin/aider" ] || { mkdir -p "$dir" && python3 -m venv "$dir/aider" && "$dir/aider/bin/pip" install -q aider-chat==0.86.2; } ;;
	*) echo "there is no such agent"; return 1 ;;
	esac
}

ready=
for agent in $AGENTS; do
	if install "$agent" >"${TMPDIR:-/tmp}/e2e-agents.$$" 2>&1; then
		ready="$ready $agent"
	else
		echo "e2e-agents: $agent is skipped, it could not be installed: $(tail -n 1 "${TMPDIR:-/tmp}/e2e-agents.$$")"
	fi
	rm -f "${TMPDIR:-/tmp}/e2e-agents.$$"
done
if [ -z "${LOCI_BINARY:-}" ]; then
	mkdir -p tmp
	CGO_ENABLED=0 go build -o tmp/loci-e2e ./cmd/loci
	LOCI_BINARY=$PWD/tmp/loci-e2e
fi
export LOCI_BINARY AGENTS_DIR="$dir"
hooked= proxied=
for agent in $ready; do
	case $agent in codex | claude) hooked="$hooked $agent" ;; esac
	[ "$agent" = claude ] || proxied="$proxied $agent"
done
# shellcheck disable=SC2086 # a word for each agent
sh e2e/agents/hooks.sh $hooked
# shellcheck disable=SC2086
exec python3 e2e/agents/check.py $proxied "$@"
