// Command release writes the container image of a release, without a container engine. It is run in
// the repository's root, after goreleaser, whose binaries it takes from DIST:
//
//	release VERSION COMMIT TIME NOTICES DIST
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: release VERSION COMMIT TIME NOTICES DIST")
	}
	version, commit, notices, dist := os.Args[1], os.Args[2], os.Args[4], os.Args[5]
	at := must(time.Parse(time.RFC3339, os.Args[3])).UTC()
	labels := map[string]string{
		"org.opencontainers.image.title":       "loci",
		"org.opencontainers.image.description": "Long-term memory for LLM applications",
		"org.opencontainers.image.source":      "https://github.com/loci-memory/loci",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.revision":    commit,
		"org.opencontainers.image.created":     at.Format(time.RFC3339),
	}
	tag := must(name.NewTag("loci:" + version))
	base := layer(baseFiles(notices), at)
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		found := must(filepath.Glob(filepath.Join(dist, "loci_linux_"+arch+"*", "loci")))
		if len(found) != 1 {
			log.Fatalf("binaries for linux/%s in %s: %q, want one", arch, dist, found)
		}
		img := image(arch, at, labels, base, layer([]file{{path: "loci", mode: 0o755, data: must(os.ReadFile(found[0]))}}, at))
		check(tarball.WriteToFile(filepath.Join(dist, "loci_"+version+"_docker_"+arch+".tar"), tag, img))
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := filepath.Join(dist, "image")
	oci := must(layout.Write(dir, empty.Index))
	check(oci.AppendIndex(mutate.Annotations(index, labels).(v1.ImageIndex),
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": tag.Name()})))
	check(validate.Index(must(oci.ImageIndex())))
	var files []file
	check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, file{path: filepath.ToSlash(must(filepath.Rel(dir, path))), mode: 0o644, data: must(os.ReadFile(path))})
		}
		return err
	}))
	check(os.WriteFile(filepath.Join(dist, "loci_"+version+"_oci.tar"), pack(files, at), 0o644))
}

const nonroot = 65532 // the user of distroless images, too

// image is that of one platform, and as deploy/Dockerfile has it.
func image(arch string, at time.Time, labels map[string]string, layers ...v1.Layer) v1.Image {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range layers {
		img = must(mutate.Append(img, mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "tools/release"}}))
	}
	config := must(img.ConfigFile())
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: at}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%[1]d", nonroot), WorkingDir: "/data", Labels: labels,
		Entrypoint: []string{"/loci"}, Cmd: []string{"serve"},
		Env: []string{
			"PATH=/", "LOCI_ADDR=0.0.0.0:7077", "LOCI_DATA=/data", "LOCI_LOG_FORMAT=json", "TMPDIR=/data",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "ZONEINFO=/usr/share/zoneinfo.zip",
		},
		ExposedPorts: map[string]struct{}{"7077/tcp": {}}, Volumes: map[string]struct{}{"/data": {}},
		// A field of Docker's, which the OCI format lacks: Docker reads it there all the same, Podman does not.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/loci", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 60 * time.Second},
	}
	return must(mutate.ConfigFile(img, config))
}

// file is one of an archive, or a folder if its path ends in a slash.
type file struct {
	path  string
	mode  int64
	owner int
	data  []byte
}

// baseFiles are what a static binary needs: Mozilla's root certificates, pinned by go.sum, the time
// zones of the Go toolchain, a user, a folder to write to, and the licences.
func baseFiles(notices string) []file {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // PEM cannot express a date from which a root is distrusted
			check(pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	goroot := strings.TrimSpace(string(must(exec.Command("go", "env", "GOROOT").Output())))
	return []file{
		{path: "data/", mode: 0o700, owner: nonroot},
		{path: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nloci:x:%d:\n", nonroot)},
		{path: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nloci:x:%d:%[1]d:Loci:/data:/sbin/nologin\n", nonroot)},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots.Bytes()},
		{path: "usr/share/doc/loci/LICENSE", mode: 0o644, data: must(os.ReadFile("LICENSE"))},
		{path: "usr/share/doc/loci/THIRD-PARTY-NOTICES.txt", mode: 0o644, data: must(os.ReadFile(notices))},
		{path: "usr/share/zoneinfo.zip", mode: 0o644, data: must(os.ReadFile(filepath.Join(goroot, "lib", "time", "zoneinfo.zip")))},
	}
}

func layer(files []file, at time.Time) v1.Layer {
	packed := pack(files, at)
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	return must(tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching))
}

// pack returns a tar archive: the same bytes for the same files.
func pack(files []file, at time.Time) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.path, "/") {
			h.Typeflag = tar.TypeDir
		}
		check(w.WriteHeader(h))
		must(w.Write(f.data))
	}
	check(w.Close())
	return out.Bytes()
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
