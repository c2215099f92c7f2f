#!/bin/sh
# Builds a release into dist: archives, packages, manifests, images, SBOMs, notices, checksums and how
# to build the same again. It publishes nothing. "make release-check" checks the result.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
# The same flags on every machine: they decide which bytes come out.
export GOFLAGS= GOTOOLCHAIN=local GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= CGO_ENABLED=0
go=$(go env GOVERSION)

if [ -n "$(git status --porcelain)" ]; then
	echo "release: commit your changes first: a release is what a commit says" >&2
	git status --short >&2
	exit 1
fi
commit=$(git rev-parse HEAD)
time=$(TZ=UTC0 git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD)
version=$(sed -n 's/^var release = "\(.*\)"$/\1/p' internal/obs/version.go)
tag=$(git tag --points-at HEAD 'v*' | tail -n 1)
case $tag in
"") version=$version-next ;;
"v$version") ;;
*) echo "release: the commit's tag is $tag, internal/obs/version.go has $version" >&2 && exit 1 ;;
esac
echo "== release $version of $commit"

# In a clone, from which Go takes the commit: from a worktree it does not.
src=$root/tmp/release
rm -rf "$src" && git clone -q "$root" "$src" && cd "$src" && git checkout -q "$commit"
tmp=tmp/made
mkdir -p "$tmp/completions"
go build -C tools/release -trimpath -buildvcs=false -o "$src/$tmp/" tool .
go build -trimpath -ldflags "-X github.com/loci-memory/loci/internal/obs.release=$version" -o "$tmp/loci" ./cmd/loci
"$tmp/loci" completion bash >"$tmp/completions/loci.bash"
"$tmp/loci" completion zsh >"$tmp/completions/_loci"
"$tmp/loci" completion fish >"$tmp/completions/loci.fish"

# Every licence file in the folder of a linked package, or above it in its module.
tab=$(printf '\t')
for os in linux darwin windows; do
	GOOS=$os go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}' ./cmd/loci
done | sort -u >"$tmp/packages"
printf '%s\t%s\t%s\n' "Go's standard library $go" "$(go env GOROOT)" "$(go env GOROOT)" >>"$tmp/packages"
while IFS=$tab read -r module top dir; do
	while :; do
		find "$dir" -maxdepth 1 -type f ! -name '*.go' \( -iname '*licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) |
			sed "s|^$top/\(.*\)|$module$tab$top$tab\1|"
		[ "$dir" != "$top" ] || break
		dir=${dir%/*}
	done
done <"$tmp/packages" | LC_ALL=C sort -u >"$tmp/licences"
cut -f 1 "$tmp/packages" | LC_ALL=C sort -u >"$tmp/modules"
if without=$(cut -f 1 "$tmp/licences" | LC_ALL=C sort -u | LC_ALL=C comm -23 "$tmp/modules" -) && [ -n "$without" ]; then
	echo "release: no licence file in: $without" >&2
	exit 1
fi
{
	echo "Loci links Go's standard library and $(($(wc -l <"$tmp/modules") - 1)) modules. Their licences follow."
	while IFS=$tab read -r module top file; do
		printf '\n================================================================================\n%s, %s\n\n' "$module" "$file"
		cat "$top/$file"
	done <"$tmp/licences"
} >"$tmp/THIRD-PARTY-NOTICES.txt"

export LOCI_VERSION="$version" LOCI_TIME="$time" LOCI_EPOCH="$(git show -s --format=%ct HEAD)" PATH="$src/$tmp:$PATH"
goreleaser release --clean --snapshot
"$tmp/release" "$version" "$commit" "$time" "$tmp/THIRD-PARTY-NOTICES.txt" dist
rm -r dist/image # loci_*_oci.tar holds it
"$tmp/loci" openapi >dist/openapi.json
cp "$tmp/THIRD-PARTY-NOTICES.txt" dist/
cat >dist/provenance.txt <<EOF
Loci $version
source    https://github.com/loci-memory/loci
commit    $commit
committed $time
go        $go
tools     $(cd tools/release && go list -m -f '{{.Path}} {{.Version}}' github.com/goreleaser/goreleaser/v2 github.com/CycloneDX/cyclonedx-gomod github.com/google/go-containerregistry | paste -sd, - | sed 's/,/, /g')

To build the same bytes again, with $go:
  git clone https://github.com/loci-memory/loci && cd loci && git checkout ${tag:-$commit}
  make release && cat dist/checksums.txt
EOF
cd dist
find . -type f \( -name 'loci[_-]*' -o -name loci.rb -o -name loci.json -o -name openapi.json -o -name provenance.txt -o -name 'THIRD*' \) |
	sed 's,^\./,,' | LC_ALL=C sort | xargs sha256sum >checksums.txt
cat checksums.txt
cd "$root"
rm -rf dist && mv "$src/dist" dist && rm -rf "$src"
