package models

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/model/modeltest"
)

// TestRealWeightsOpen opens every model in the folder.
func TestRealWeightsOpen(t *testing.T) {
	dir := modeltest.Dir(t, modeltest.MiniLM)
	folders, err := fs.ReadDir(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !strings.HasPrefix(f.Name(), ".") {
			if _, err := openLocalModel(config.Config{ModelsDir: dir}, "embedder", f.Name()); err != nil {
				t.Error(err)
			}
		}
	}
}
