package loci

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// deployed returns the files under deploy that say how Loci is run.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 5 {
		t.Fatalf("got %d files under deploy, want the Dockerfile, compose.yaml and the manifests", len(files))
	}
	return files
}

func TestDeployedFilesNameSettingsThatExist(t *testing.T) {
	var known []string
	for _, s := range settings() {
		known = append(known, s.Env)
	}
	for path, text := range deployed(t) {
		for _, name := range regexp.MustCompile(`\bLOCI_[A-Z_]+`).FindAllString(text, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: got %s, which is no setting", path, name)
			}
		}
	}
}

// TestDeployedSettingsAreTaken loads each manifest's plain values as Loci would.
func TestDeployedSettingsAreTaken(t *testing.T) {
	for path, text := range deployed(t) {
		env := []string{"LOCI_API_KEY=a-key-of-some-length"}
		for _, m := range regexp.MustCompile(`(?m)name: (LOCI_\w+), value: "?([^"}]+)"?}|^\s+(LOCI_\w+): ([^$\s]+)$`).FindAllStringSubmatch(text, -1) {
			env = append(env, m[1]+m[3]+"="+m[2]+m[4])
		}
		if len(env) == 1 {
			continue
		}
		if _, err := LoadConfig(Sources{Env: env}); err != nil {
			t.Errorf("%s: got %v of %q, want no error", path, err, env)
		}
	}
}

func TestDeployedYAMLIsWhole(t *testing.T) {
	for path, text := range deployed(t) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		dec := yaml.NewDecoder(strings.NewReader(text), yaml.Strict())
		for {
			var document map[string]any
			err := dec.Decode(&document)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
				break
			}
			if kind := document["kind"]; strings.Contains(path, "kubernetes") && kind == nil {
				t.Errorf("%s: got a document without a kind", path)
			}
		}
	}
}

// TestProbesNeedNoKey asks what the manifests let Kubernetes ask, by the host that
// they name, of a server that has a key and answers to one name alone.
func TestProbesNeedNoKey(t *testing.T) {
	manifest := deployed(t)[filepath.Join("deploy", "kubernetes", "deployment.yaml")]
	paths := regexp.MustCompile(`path: (/\S+),`).FindAllStringSubmatch(manifest, -1)
	if len(paths) != 3 {
		t.Fatalf("got probes %q, want three", paths)
	}
	l := openWith(t, map[string]string{"api_key": "a-key-of-some-length", "hosts": "loci.example.com"})
	for _, path := range paths {
		r := httptest.NewRequest(http.MethodGet, path[1], nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if l.Handler().ServeHTTP(w, r); w.Code >= 300 {
			t.Errorf("%s: got %d %s, want it answered", path[1], w.Code, w.Body)
		}
	}
}
