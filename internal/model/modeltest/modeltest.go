// Package modeltest finds real models for tests. They are not part of the sources; make models downloads
// all-MiniLM-L6-v2.
package modeltest

import (
	"os"
	"path/filepath"
	"testing"
)

// MiniLM is the name of the model that make models downloads.
const MiniLM = "all-MiniLM-L6-v2"

// Dir returns the folder of real models: LOCI_MODELS_DIR or tmp/models in the sources. It skips the test if one
// of the named models is missing.
func Dir(t testing.TB, names ...string) string {
	t.Helper()
	dir := os.Getenv("LOCI_MODELS_DIR")
	if dir == "" {
		dir = filepath.Join(sources(t), "tmp", "models")
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name, "model.safetensors")); err != nil {
			t.Skipf("the model %s is not in %s: run make models, or set LOCI_MODELS_DIR", name, dir)
		}
	}
	return dir
}

// sources returns the folder that contains go.mod.
func sources(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the test's folder")
	return ""
}
