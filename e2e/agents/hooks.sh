#!/bin/sh
# Checks loci connect and loci hook with the agents named as arguments, codex or claude. Their model is loci/recall of
# another Loci. run.sh calls it, with AGENTS_DIR and LOCI_BINARY.
set -eu
work=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || true; rm -rf "$work"' EXIT
export HOME="$work/home" DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
unset CODEX_HOME CLAUDE_CONFIG_DIR XDG_CONFIG_HOME LOCI_ADDR LOCI_DATA || true
mkdir -p "$HOME/.codex" "$work/project" "$work/bin"
ln -s "$LOCI_BINARY" "$work/bin/loci" # the name by which connect knows its own entries
unset LOCI_BINARY # it is not a setting
PATH=$work/bin:$PATH

# serve NAME starts a server on a folder of its own; its address is in NAME.addr.
serve() {
	loci serve --addr 127.0.0.1:0 --data "$work/$1" >"$work/$1.log" 2>&1 &
	pids="$pids $!"
	for _ in $(seq 100); do
		addr=$(sed -n 's|.*chat (OpenAI) *http://\([^/]*\)/v1.*|\1|p' "$work/$1.log")
		[ -n "$addr" ] && break
		sleep 0.1
	done
	echo "$addr" >"$work/$1.addr"
}
serve model
serve memory
memory=$(cat "$work/memory.addr")
url=http://$(cat "$work/model.addr")
loci add --addr "$memory" "Our API is called Halyard" >/dev/null
printf 'model = "loci/recall"\nmodel_provider = "m"\n\n[model_providers.m]\nname = "m"\nbase_url = "%s/v1"\nwire_api = "responses"\n' "$url" >"$HOME/.codex/config.toml"
cp "$HOME/.codex/config.toml" "$work/config.toml"

# fail AGENT WHAT
fail() {
	echo "FAIL hooks of $1: $2"
	tail -n 20 "$work/$1.log"
	exit 1
}

prompt="Our queue is called Sparrow. What is our API called?"
for agent; do
	client=$agent sessions=$HOME/.codex/sessions settings=$HOME/.codex/hooks.json
	if [ "$agent" = claude ]; then
		client=claude-code sessions=$HOME/.claude/projects settings=$HOME/.claude/settings.json
	fi
	loci connect $client --yes --addr "$memory" --user "$agent" >/dev/null
	loci add --addr "$memory" --user "$agent" "Our API is called Halyard" >/dev/null
	(
		cd "$work/project"
		if [ "$agent" = claude ]; then
			ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=none timeout 120 "$AGENTS_DIR/claude/bin/claude" -p --model loci/recall "$prompt"
		else
			timeout 120 "$AGENTS_DIR/codex/bin/codex" exec --skip-git-repo-check --dangerously-bypass-hook-trust "$prompt"
		fi
	) >"$work/$agent.log" 2>&1 </dev/null || fail "$agent" "it did not run"
	grep -rq Halyard "$sessions" || fail "$agent" "the prompt got no memory"
	loci list --addr "$memory" --user "$agent" --kind turn --json >"$work/turns.json"
	grep -qF "\"content\": \"$prompt\"" "$work/turns.json" || fail "$agent" "the prompt is not recorded"
	grep -qF '"role": "assistant"' "$work/turns.json" || fail "$agent" "the answer is not recorded"
	[ "$(grep -cF "\"project\": \"$work/project\"" "$work/turns.json")" = 2 ] || fail "$agent" "two turns of the project are wanted"
	loci connect $client --remove --yes >/dev/null
	[ "$(cat "$settings")" = "{}" ] || fail "$agent" "$settings has something left"
	cmp -s "$HOME/.codex/config.toml" "$work/config.toml" || fail "$agent" "config.toml is not as it was"
	echo "ok   hooks of $agent"
done
