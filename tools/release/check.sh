#!/bin/sh
# Checks the release in dist: its checksums; that another folder and an empty build cache give the same
# bytes; the image's files under chroot as its user; the deb, installed and removed in a clean Debian;
# the rpm's list of files. "sh check.sh quick" leaves out the second build, which takes minutes.
set -eu
fail() { echo "release-check: $1" >&2; exit 1; }

# use ROOT USER PROGRAM NAME=VALUE...: serves memory as a user in a root, in a network of its own, asks it
# from there, and ends it.
if [ "${1:-}" = use ]; then
	folder=$2 user=$3 program=$4
	shift 4
	inside="env -i $* $(command -v chroot) --userspec=$user $folder $program" # without spaces in any of them
	loci() { $inside "$@"; }
	ip link set lo up
	$inside serve 2>"$folder.log" &
	server=$!
	trap 'kill $server 2>/dev/null' EXIT
	tries=0
	until loci health >/dev/null 2>&1; do
		tries=$((tries + 1))
		kill -0 $server 2>/dev/null && [ $tries -lt 200 ] || fail "loci serve does not answer: $(tail -n 5 "$folder.log")"
		sleep 0.2
	done
	echo "loci health: $(loci health)"
	loci add "User is allergic to peanuts"
	found=$(loci search "what am I allergic to?")
	echo "$found"
	case $found in *peanuts*) ;; *) fail "what was added is not found" ;; esac
	curl -fsS http://127.0.0.1:7077/health && echo
	trap - EXIT
	kill $server
	wait $server || fail "loci serve ended with $?"
	if loci health 2>/dev/null; then fail "loci health finds a server that has ended"; fi
	exit 0
fi
use() { unshare --net sh tools/release/check.sh use "$@"; }

cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/loci-release.XXXXXX")
chmod 755 "$work"
tidy() {
	umount "$work/debian/proc" 2>/dev/null || true
	rm -rf "$work"
}
trap tidy EXIT
skip() { mkdir -p tmp && echo "  release: $1" | tee -a tmp/skipped; }
[ -f dist/checksums.txt ] || fail "there is no release in dist: run make release"
version=$(sed -n '1s/^Loci //p' dist/provenance.txt)
commit=$(sed -n 's/^commit    //p' dist/provenance.txt)

echo "== checksums"
(cd dist && sha256sum --quiet -c checksums.txt)

if [ "${1:-}" != quick ]; then
	echo "== the binary for Linux, compiled in another folder with an empty build cache"
	git clone -q "$root" "$work/another folder"
	git -C "$work/another folder" checkout -q "$commit"
	(cd "$work/another folder" && GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=$work/cache go build -trimpath -buildvcs=true \
		-ldflags "-s -w -X github.com/loci-memory/loci/internal/obs.release=$version" -o "$work/loci" ./cmd/loci)
	cmp "$work/loci" dist/loci_linux_amd64_v1/loci
	echo "== all files, built again in that folder"
	sh "$work/another folder/tools/release/release.sh" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	diff dist/checksums.txt "$work/another folder/dist/checksums.txt"
	rm -rf "$work/another folder" "$work/cache"
fi

if [ "$(id -u)" != 0 ]; then
	skip "the image and the packages are not tried: chroot needs root"
	exit 0
fi

echo "== image"
mkdir -p "$work/oci" "$work/image"
tar -C "$work/oci" -xf "dist/loci_${version}_oci.tar"
# Index, image index, manifest of linux/amd64, layers: each names the next by its digest.
cat >"$work/image.py" <<'EOF'
import json, sys
blob = lambda d: json.load(open(sys.argv[1] + "/blobs/" + d["digest"].replace(":", "/")))
platforms = blob(json.load(open(sys.argv[1] + "/index.json"))["manifests"][0])["manifests"]
assert {p["platform"]["architecture"] for p in platforms} == {"amd64", "arm64"}, platforms
manifest = blob(next(p for p in platforms if p["platform"]["architecture"] == "amd64"))
config = blob(manifest["config"])["config"]
assert config["Healthcheck"]["Test"] == ["CMD", "/loci", "health"], config
print(config["User"])
print(*config["Env"])
print(*(l["digest"].replace(":", "/") for l in manifest["layers"]))
EOF
python3 "$work/image.py" "$work/oci" >"$work/image.txt"
user=$(sed -n 1p "$work/image.txt")
[ "${user%%:*}" -gt 0 ] || fail "the image runs as root"
for layer in $(sed -n 3p "$work/image.txt"); do tar -C "$work/image" -xzf "$work/oci/blobs/$layer"; done
chroot --userspec="$user" "$work/image" /loci version
use "$work/image" "$user" /loci $(sed -n 2p "$work/image.txt") LOCI_API_KEY=check-0123456789abcdef
if command -v skopeo >/dev/null; then
	skopeo inspect "oci-archive:dist/loci_${version}_oci.tar" >/dev/null && skopeo inspect "docker-archive:dist/loci_${version}_docker_amd64.tar" >/dev/null
else
	skip "the image is not read by another program: install Debian's skopeo"
fi

echo "== rpm"
if command -v rpm >/dev/null; then
	rpm -qlp dist/loci-*x86_64.rpm
	rpm -qlp dist/loci-*x86_64.rpm | grep -qx /usr/lib/systemd/system/loci.service || fail "the rpm has no unit"
else
	skip "the rpm is not looked at: install Debian's rpm"
fi

echo "== deb"
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 '/debian/*$' || true)
if [ -n "${DEBIAN_ROOT:-}" ]; then # what debootstrap made before
	cp -a "$DEBIAN_ROOT" "$work/debian"
elif ! command -v debootstrap >/dev/null; then
	skip "the deb is not installed: install debootstrap"
	exit 0
elif ! debootstrap --variant=minbase --include=systemd bookworm "$work/debian" ${mirror:+"$mirror"} >"$work/log" 2>&1; then
	skip "the deb is not installed: debootstrap got no Debian from ${mirror:-its mirror}: $(tail -n 1 "$work/log")"
	exit 0
fi
debian="chroot $work/debian"
mount -t proc proc "$work/debian/proc"
cp dist/loci_*_amd64.deb "$work/debian/loci.deb"
$debian dpkg -i /loci.deb
$debian loci version
$debian id loci
$debian systemd-analyze verify loci.service
for file in /usr/share/bash-completion/completions/loci /usr/share/zsh/vendor-completions/_loci /usr/share/fish/vendor_completions.d/loci.fish \
	/usr/share/doc/loci/copyright /usr/share/doc/loci/THIRD-PARTY-NOTICES.txt /etc/loci/loci.env; do
	[ -s "$work/debian$file" ] || fail "the deb has no $file"
done
user=$($debian id -u loci):$($debian id -g loci)
$debian install -d -o loci -g loci -m 700 /var/lib/loci # systemd does this
use "$work/debian" "$user" loci PATH=/usr/bin HOME=/var/lib/loci LOCI_DATA=/var/lib/loci
$debian dpkg -i /loci.deb >/dev/null # an upgrade
$debian dpkg --remove loci
[ ! -e "$work/debian/usr/bin/loci" ] || fail "loci is still there"
[ -s "$work/debian/etc/loci/loci.env" ] || fail "a removal took the settings, which are for a purge"
$debian dpkg --purge loci
[ ! -e "$work/debian/etc/loci" ] || fail "the settings are still there"
[ -s "$work/debian/var/lib/loci/loci.db" ] || fail "a purge took the memory"
echo "== release-check: all passed"
