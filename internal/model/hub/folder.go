package hub

import (
	"crypto/sha1" //nolint:gosec // the hub lists git's SHA-1 for small files, and a SHA-256 for large files
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

const (
	weightsFile  = "model.safetensors"
	manifestFile = "loci.json"
	pullFolder   = ".pull"
)

// Files are the names of a model's files. Any other file is ignored. The first two files are required.
var Files = []string{
	weightsFile, "config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json", "modules.json", "1_Pooling/config.json",
	"sentence_bert_config.json", "config_sentence_transformers.json",
}

// Manifest is the content of loci.json of a downloaded or copied model.
type Manifest struct {
	Repository string         `json:"repository,omitempty"`
	Commit     string         `json:"commit,omitempty"`
	Source     string         `json:"source,omitempty"` // name of the folder or archive of a local copy
	Files      []ManifestFile `json:"files"`
}

// ManifestFile is one file of a model, with one of the two hashes.
type ManifestFile struct {
	Name        string `json:"name"` // path with slashes
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256,omitempty"`
	GitBlobSHA1 string `json:"blob,omitempty"` // git's SHA-1 of "blob SIZE\0" and the content
}

// Model is a local model.
type Model struct {
	Name      string // NAME in the setting local:NAME
	Dir       string
	SizeBytes int64
}

// List returns the models in a folder, ordered by name. It returns none if the folder does not exist.
func List(dir string) ([]Model, error) {
	var out []Model
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == "." && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || strings.Count(path, "/") > 1):
			return fs.SkipDir
		case d.IsDir() || d.Name() != weightsFile || !strings.Contains(path, "/"):
			return nil
		}
		name := strings.TrimSuffix(path, "/"+weightsFile)
		m := Model{Name: name, Dir: filepath.Join(dir, filepath.FromSlash(name))}
		m.SizeBytes, err = disk.Usage(m.Dir)
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	slices.SortFunc(out, func(a, b Model) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Find returns the folder of a model, or [memory.NotFound].
func Find(dir, name string) (string, error) {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, ".") {
		return "", memory.Errorf(memory.Invalid, "invalid model name %q", name)
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", memory.Errorf(memory.NotFound, "no model %s in %s; loci models list shows the installed models, loci models pull %s installs it", name, dir, name)
	}
	return path, nil
}

// Remove deletes a model from the folder dir.
func Remove(dir, name string) error {
	path, err := Find(dir, name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, weightsFile)); err != nil {
		return memory.Errorf(memory.Conflict, "%s is not a model: it has no %s; remove the folder yourself", path, weightsFile)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// Verify compares a model's files with the hashes in loci.json and returns the manifest, or nil for a folder
// without loci.json. The error names all changed and missing files.
func Verify(path string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(path, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var m Manifest
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("read the recorded hashes: %w", err)
	}
	var wrong []error
	for _, f := range m.Files {
		if !filepath.IsLocal(f.Name) {
			wrong = append(wrong, fmt.Errorf("%s is outside the model's folder", f.Name))
			continue
		}
		if err := f.verify(filepath.Join(path, filepath.FromSlash(f.Name))); err != nil {
			wrong = append(wrong, err)
		}
	}
	return &m, errors.Join(wrong...)
}

// verify compares the file at path with the recorded size and hash.
func (f ManifestFile) verify(path string) error {
	r, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }() // the file was only read
	h, want := f.newHash()
	if h == nil {
		return fmt.Errorf("%s has no recorded hash", f.Name)
	}
	n, err := io.Copy(h, r)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", f.Name, err)
	case n != f.Size:
		return fmt.Errorf("%s has %d bytes, want %d", f.Name, n, f.Size)
	case hex.EncodeToString(h.Sum(nil)) != want:
		return fmt.Errorf("%s is damaged: its hash differs from the recorded one", f.Name)
	}
	return nil
}

// newHash returns a hash function for the file's content and the expected sum, or nil if no hash is recorded.
func (f ManifestFile) newHash() (hash.Hash, string) {
	switch {
	case f.SHA256 != "":
		return sha256.New(), f.SHA256
	case f.GitBlobSHA1 != "":
		h := sha1.New() //nolint:gosec // see the import
		fmt.Fprintf(h, "blob %d\x00", f.Size)
		return h, f.GitBlobSHA1
	}
	return nil, ""
}
