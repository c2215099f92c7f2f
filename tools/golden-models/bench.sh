#!/bin/sh
# Stands this repository's encoder beside ONNX Runtime, taking turns, on one thread
# and then on two: sh bench.sh [rounds]. Look at the best times: what else the machine
# does only ever adds to them.
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm install --ignore-scripts --no-audit --no-fund
test="${TMPDIR:-/tmp}/transformer.test"
go test -C ../.. -c -o "$test" ./internal/model/transformer
for threads in 1 2; do
	for _ in $(seq "${1:-2}"); do
		for name in Embed/avx512 Rerank; do
			(cd ../../internal/model/transformer && "$test" -test.run '^$' -test.bench "$name/.*/workers=$threads\$" -test.benchtime 500ms | grep best-ms)
		done
		node bench.mjs "$threads" 0.5
	done
done
rm "$test"
