package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

var sample = map[string]string{
	"data/loci.db": strings.Repeat("a database ", 5000), "data/embedders.json": "{}", "vault/.loci/journal.jsonl": "{}\n{}\n", "vault/entries/global/facts/a b.md": "Tea\n", "vault/empty": "",
}

// written returns an archive of files; also, if not nil, may put in what Add refuses.
func written(t testing.TB, files map[string]string, also func(*Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for name, text := range files {
		if err := w.Add(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if also != nil {
		also(w)
	}
	if _, err := w.Finish(Manifest{LociVersion: "0", Counts: map[string]int64{"facts": 1}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpacked checks and unpacks an archive, and returns what came out.
func unpacked(t testing.TB, archive []byte) (map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "b.zip")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(path, "")
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if err := a.Check(context.Background(), nil); err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, folder := range []string{DataFolder, VaultFolder} {
		to := filepath.Join(dir, folder)
		if err := a.Unpack(context.Background(), folder, to, nil); err != nil {
			return nil, err
		}
		err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			got[filepath.ToSlash(name)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return got, nil
}

func TestWhatIsBackedUpComesBack(t *testing.T) {
	got, err := unpacked(t, written(t, sample, nil))
	if diff := cmp.Diff(sample, got); err != nil || diff != "" {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
}

// raw adds a member that Add would refuse, and lets the manifest name it.
func raw(t *testing.T, header zip.FileHeader, text string) func(*Writer) {
	return func(w *Writer) {
		to, err := w.zip.CreateHeader(&header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var other bytes.Buffer
		o := NewWriter(&other)
		if err := o.Add("vault/x", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		w.members = append(w.members, Member{header.Name, int64(len(text)), o.members[0].SHA256})
	}
}

func TestArchivesThatReachOutAreRefused(t *testing.T) {
	link := zip.FileHeader{Name: "vault/link"}
	link.SetMode(fs.ModeSymlink | 0o777)
	tests := map[string]func(*Writer){
		"leads out":       raw(t, zip.FileHeader{Name: "vault/../../out"}, "x"),
		"whole path":      raw(t, zip.FileHeader{Name: "/etc/x"}, "x"),
		"no folder":       raw(t, zip.FileHeader{Name: "x"}, "x"),
		"another file":    raw(t, zip.FileHeader{Name: "data/loci.db.lock"}, "x"),
		"deeper":          raw(t, zip.FileHeader{Name: "data/models/x"}, "x"),
		"git's":           raw(t, zip.FileHeader{Name: "vault/.GIT/hooks/post-commit"}, "x"),
		"a link":          raw(t, link, "/etc/passwd"),
		"a folder":        raw(t, zip.FileHeader{Name: "vault/folder/"}, ""),
		"twice":           raw(t, zip.FileHeader{Name: "vault/empty"}, "other"),
		"no name":         raw(t, zip.FileHeader{Name: ""}, ""),
		"a file and more": func(w *Writer) { raw(t, zip.FileHeader{Name: "vault/empty/more"}, "x")(w) },
		"in no list": func(w *Writer) {
			if _, err := w.zip.Create("vault/more"); err != nil {
				t.Fatal(err)
			}
		},
		"not there":     func(w *Writer) { w.members = append(w.members, Member{Name: "vault/gone"}) },
		"another hash":  func(w *Writer) { w.members[0].SHA256 = strings.Repeat("0", 64) },
		"another size":  func(w *Writer) { w.members[0].Size++ },
		"negative size": func(w *Writer) { w.members[0].Size = -1 },
		"a newer format": func(w *Writer) {
			text, _ := json.Marshal(Manifest{Format: FormatVersion + 1})
			to, err := w.zip.Create(manifestName) // before the other: both are there
			if err == nil {
				_, err = to.Write(text)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, also := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := unpacked(t, written(t, sample, also))
			if err == nil {
				t.Fatal("it was unpacked")
			}
			if name != "a file and more" && !errors.Is(err, memory.Invalid) {
				t.Errorf("%v: want it invalid", err)
			}
		})
	}
}

// TestNameThatNoBackupHasIsRefusedByName: what is backed up is not called damaged.
func TestNameThatNoBackupHasIsRefusedByName(t *testing.T) {
	var out bytes.Buffer
	err := NewWriter(&out).Add("vault/caf\xe9.md", strings.NewReader("x"))
	if !errors.Is(err, memory.Invalid) || !strings.Contains(err.Error(), `caf\xe9.md`) || strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want to be told to rename it", err)
	}
}

// TestMemberThatBlowsUpIsRefused: one that says less than it holds.
func TestMemberThatBlowsUpIsRefused(t *testing.T) {
	archive := written(t, map[string]string{"vault/big": strings.Repeat("\x00", 10<<20)}, nil)
	if len(archive) > 100<<10 {
		t.Fatalf("%d bytes: there is nothing to see here", len(archive))
	}
	// Size in the manifest and the directory alone is another: 10485760 is 0xa00000.
	archive = bytes.ReplaceAll(archive, []byte{0, 0, 0xa0, 0}, []byte{0, 0, 0x10, 0})
	if _, err := unpacked(t, archive); !errors.Is(err, memory.Invalid) {
		t.Errorf("%v, want it invalid", err)
	}
}

func TestWhatIsNoBackupIsRefused(t *testing.T) {
	var other bytes.Buffer
	z := zip.NewWriter(&other)
	if _, err := z.Create("a.md"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, archive := range map[string][]byte{"empty": nil, "text": []byte("hello"), "another zip": other.Bytes()} {
		if _, err := unpacked(t, archive); !errors.Is(err, memory.Invalid) {
			t.Errorf("%s: %v, want it invalid", name, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "gone"), ""); !errors.Is(err, memory.NotFound) {
		t.Errorf("nothing: %v, want it not found", err)
	}
	if _, err := Open(t.TempDir(), ""); !errors.Is(err, memory.Invalid) {
		t.Errorf("a folder: %v, want it invalid", err)
	}
}

// held reads an archive in memory.
func held(archive []byte) (map[string]string, error) {
	a := &Archive{}
	if err := a.open(bytes.NewReader(archive), int64(len(archive)), ""); err != nil {
		return nil, err
	}
	got := map[string]string{}
	err := a.copyMembers(context.Background(), "", nil, func(name string) (io.WriteCloser, error) { return &kept{in: got, name: name}, nil })
	return got, err
}

// kept is a member in memory.
type kept struct {
	bytes.Buffer
	in   map[string]string
	name string
}

func (k *kept) Close() error { k.in[k.name] = k.String(); return nil }

func TestTruncatedArchivesAreRefused(t *testing.T) {
	archive := written(t, sample, nil)
	for n := range len(archive) {
		if _, err := held(archive[:n]); !errors.Is(err, memory.Invalid) {
			t.Fatalf("%d of %d bytes: %v, want it invalid", n, len(archive), err)
		}
	}
}

// TestAlteredBytesAreFound changes every byte in turn: what is read all the same is what
// was backed up.
func TestAlteredBytesAreFound(t *testing.T) {
	archive := written(t, sample, nil)
	refused := 0
	for i := range archive {
		for bit := range 8 {
			altered := bytes.Clone(archive)
			altered[i] ^= 1 << bit
			got, err := held(altered)
			if err != nil {
				refused++
				continue
			}
			if diff := cmp.Diff(sample, got); diff != "" {
				t.Fatalf("bit %d of byte %d: (-want +got)\n%s", bit, i, diff)
			}
		}
	}
	if refused < 4*len(archive) {
		t.Errorf("%d of %d were refused: there is nothing to see here", refused, 8*len(archive))
	}
}

// FuzzOpen: whatever a file holds, what comes out has a name that stays in its folder, and
// is what its own manifest says.
func FuzzOpen(f *testing.F) {
	f.Add(written(f, map[string]string{"data/loci.db": "a database", "vault/entries/a.md": "Tea"}, nil))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		got, err := held(archive)
		if err != nil {
			return
		}
		for name := range got {
			if !fs.ValidPath(name) || !strings.HasPrefix(name, "vault/") && !strings.HasPrefix(name, "data/") {
				t.Errorf("there is a file %q", name)
			}
		}
	})
}

func TestCheckEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.zip")
	if err := os.WriteFile(path, written(t, sample, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Check(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it ends", err)
	}
	var read int64
	if err := a.Check(t.Context(), func(done, _ int64) { read = done }); err != nil || read != a.Manifest.Size() {
		t.Errorf("told of %d bytes, %v; want %d", read, err, a.Manifest.Size())
	}
}
