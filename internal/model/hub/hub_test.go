package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// fakeHub is a hub with one model, org/tiny.
type fakeHub struct {
	*httptest.Server
	files   map[string][]byte
	cut     int  // break off the weights after so many bytes; 0: never
	spoiled bool // give other bytes than are published
	noRange bool
	got     []string // requests: path, and range
}

func newHub(t *testing.T) *fakeHub {
	t.Helper()
	h := &fakeHub{files: map[string][]byte{
		weightsFile: bytes.Repeat([]byte("weights "), 1000), "config.json": []byte(`{"model_type":"bert"}`),
		"vocab.txt": []byte("[PAD]\n"), "1_Pooling/config.json": []byte("{}"), "README.md": []byte("not needed"), "pytorch_model.bin": []byte("not needed"),
	}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.got = append(h.got, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	switch name, isFile := strings.CutPrefix(r.URL.Path, "/org/tiny/resolve/"+commit+"/"); {
	case r.URL.Path == "/api/models/org/tiny/revision/main" && r.URL.Query().Get("blobs") == "true":
		var siblings []map[string]any
		for name, content := range h.files {
			blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
			s := map[string]any{"rfilename": name, "size": len(content), "blobId": hex.EncodeToString(blob[:])}
			if name == weightsFile {
				sum := sha256.Sum256(content)
				s["lfs"] = map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(content), "pointerSize": 134}
			}
			siblings = append(siblings, s)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
	case isFile && h.files[name] != nil:
		content := bytes.Clone(h.files[name])
		if h.spoiled {
			content[len(content)-1] ^= 1
		}
		if h.noRange {
			r.Header.Del("Range")
		}
		if h.cut > 0 && name == weightsFile {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:h.cut])
			return // the server closes the connection, which is too early
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	default:
		http.NotFound(w, r)
	}
}

func (h *fakeHub) pull(t *testing.T, dir, name string) (string, error) {
	t.Helper()
	return Puller{Dir: dir, URL: h.URL, Client: h.Client()}.Pull(context.Background(), name)
}

func TestAPulledModelIsWholeAndListed(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	var last string
	p := Puller{Dir: dir, URL: h.URL, Client: h.Client(), Progress: func(file string, done, size int64) { last = fmt.Sprintf("%s %d/%d", file, done, size) }}
	name, err := p.Pull(context.Background(), "org/tiny")
	if err != nil || name != "tiny" || last != "model.safetensors 8000/8000" {
		t.Fatalf("%q, %v, last progress %q; want tiny, all of the weights last", name, err, last)
	}
	for file, content := range h.files {
		got, err := os.ReadFile(filepath.Join(dir, "tiny", file))
		if needed := !strings.HasPrefix(string(content), "not needed"); needed != (err == nil) || needed && !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v; needed: %v", file, len(got), err, needed)
		}
	}
	m, err := Verify(filepath.Join(dir, "tiny"))
	if err != nil || m.Repository != "org/tiny" || m.Commit != commit || len(m.Files) != 4 {
		t.Errorf("verify: %+v, %v", m, err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 1 || list[0].Name != "tiny" || list[0].SizeBytes < 8000 {
		t.Errorf("list: %+v, %v; want tiny alone", list, err)
	}
	if _, err := h.pull(t, dir, "org/tiny"); !errors.Is(err, memory.Conflict) {
		t.Errorf("pulled again: %v, want a conflict", err)
	}
	if _, err := os.Stat(filepath.Join(dir, pullFolder)); err == nil {
		t.Error("what was needed to pull is still there")
	}
	if err := Remove(dir, "tiny"); err != nil {
		t.Error(err)
	}
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Errorf("after removal: %+v, %v; want none", list, err)
	}
}

func TestAPullThatBrokeOffGoesOnWhereItWas(t *testing.T) {
	for _, noRange := range []bool{false, true} {
		h, dir := newHub(t), t.TempDir()
		h.cut = 3000
		_, err := h.pull(t, dir, "org/tiny")
		if !errors.Is(err, memory.Unavailable) || !strings.Contains(err.Error(), "3000 of 8000 bytes") || !strings.Contains(err.Error(), "models_url") {
			t.Fatalf("cut: %v, want how far it came and what to do", err)
		}
		if list, err := List(dir); err != nil || len(list) != 0 {
			t.Errorf("half a model is listed: %+v, %v", list, err)
		}
		h.cut, h.got, h.noRange = 0, nil, noRange
		if _, err := h.pull(t, dir, "org/tiny"); err != nil {
			t.Fatal(err)
		}
		want := "/org/tiny/resolve/" + commit + "/model.safetensors bytes=3000-"
		if len(h.got) != 2 || h.got[1] != want {
			t.Errorf("asked for %q, want what the model is and %q alone", h.got, want)
		}
		if _, err := Verify(filepath.Join(dir, "tiny")); err != nil {
			t.Error(err)
		}
	}
}

func TestFilesWithWrongHashesAreDeleted(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	h.spoiled = true
	if _, err := h.pull(t, dir, "org/tiny"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("spoiled: %v, want it called damaged", err)
	}
	h.spoiled = false
	if _, err := h.pull(t, dir, "org/tiny"); err != nil {
		t.Errorf("pulled again: %v", err)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	if _, err := h.pull(t, dir, "org/tiny"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tiny")
	spoiled := bytes.Clone(h.files[weightsFile])
	spoiled[17] ^= 1
	if err := errors.Join(os.WriteFile(filepath.Join(path, weightsFile), spoiled, 0o600), os.Remove(filepath.Join(path, "vocab.txt"))); err != nil {
		t.Fatal(err)
	}
	_, err := Verify(path)
	if err == nil || !strings.Contains(err.Error(), "model.safetensors is damaged") || !strings.Contains(err.Error(), "vocab.txt") || strings.Contains(err.Error(), "config.json") {
		t.Errorf("%v; want the weights and vocab.txt named", err)
	}
	if m, err := Verify(t.TempDir()); m != nil || err != nil {
		t.Errorf("a folder without hashes: %+v, %v; want neither", m, err)
	}
}

func TestPullsThatCannotBeSayWhy(t *testing.T) {
	h, dir := newHub(t), t.TempDir()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		url, model string
		want       memory.Code
		says       []string
	}{
		"offline":     {gone.URL, "org/tiny", memory.Unavailable, []string{"models_url", filepath.Join(dir, "tiny"), "model.safetensors"}},
		"no such":     {h.URL, "org/huge", memory.NotFound, []string{"org/huge"}},
		"no name":     {h.URL, "tiny", memory.Invalid, []string{"ORGANISATION/NAME", "all-MiniLM-L6-v2"}},
		"a path":      {h.URL, "../tiny", memory.Invalid, nil},
		"a deep path": {h.URL, "org/../tiny", memory.Invalid, nil},
		"hidden":      {h.URL, "org/.pull", memory.Invalid, nil},
	} {
		_, err := Puller{Dir: dir, URL: c.url, Client: h.Client()}.Pull(context.Background(), c.model)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", name, err, s)
			}
		}
	}
	delete(h.files, weightsFile)
	if _, err := h.pull(t, dir, "org/tiny"); !errors.Is(err, memory.Invalid) {
		t.Errorf("without weights: %v, want it invalid", err)
	}
}

func TestOnlyModelsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "letters"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]memory.Code{"letters": memory.Conflict, "nobody": memory.NotFound, "..": memory.Invalid, "../x": memory.Invalid, ".": memory.Invalid, "": memory.Invalid, "/": memory.Invalid} {
		if err := Remove(dir, name); !errors.Is(err, want) {
			t.Errorf("remove %q: %v, want %s", name, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "letters")); err != nil {
		t.Error(err)
	}
}
