package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// open returns an index that makes checkpoints of whatever it holds.
func openAt(src memory.IndexSource, dir string, budget int64) *Index {
	ix := New(src, Options{Model: "m", Dir: dir, Budget: budget})
	ix.checkpointMinimum = 1
	return ix
}

func files(t *testing.T, dir, suffix string) []string {
	t.Helper()
	return try(filepath.Glob(filepath.Join(dir, "*"+suffix))).orFail(t)
}

func everything(owner memory.Owner) memory.Search {
	return memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Text: "Lisbon dog w0q w1q", Limit: 1000}
}

func TestRestartsAgreeWithTheReferenceOnRandomHistories(t *testing.T) {
	for seed := range uint64(12) {
		p, src, dir := newPlayer(seed), newSource(), t.TempDir()
		ix := openAt(src, dir, pick(p, int64(1), 1<<20))
		for range 50 {
			p.step(src)
			if p.IntN(12) == 0 {
				if owner := pick(p, p.owners...); src.owners[owner] != nil {
					src.erased[owner] = src.owners[owner].version
				}
			}
			if p.IntN(20) == 0 {
				noError(t)(ix.Drop(pick(p, p.owners...)))
			}
			agree(t, src.reference(), ix, p.search())
			if p.IntN(6) > 0 {
				continue
			}
			noError(t)(ix.Close())
			if p.IntN(3) == 0 {
				for _, file := range files(t, dir, checkpointSuffix) {
					damage(t, p, file)
				}
			}
			for range p.IntN(3) {
				p.step(src)
			}
			ix = openAt(src, dir, 1<<20)
		}
		noError(t)(ix.Close())
		if left := files(t, dir, temporarySuffix); left != nil {
			t.Errorf("%v are left", left)
		}
	}
}

// damage flips a bit of a file or cuts it off.
func damage(t *testing.T, p *player, file string) {
	t.Helper()
	data := try(os.ReadFile(file)).orFail(t)
	at := p.IntN(len(data))
	if p.IntN(2) == 0 {
		data = data[:at]
	} else {
		data[at] ^= 1 << p.IntN(8)
	}
	noError(t)(os.WriteFile(file, data, 0o600))
}

// checkpointed returns a source with one owner of some memories, and a folder with
// a checkpoint of it.
func checkpointed(t *testing.T, steps int) (*source, memory.Owner, string) {
	t.Helper()
	p, src, dir := newPlayer(3), newSource(), t.TempDir()
	p.owners = p.owners[:1]
	for range steps {
		p.step(src)
	}
	ix := openAt(src, dir, 0)
	noError(t)(ix.Search(context.Background(), everything(p.owners[0])))
	noError(t)(ix.Close())
	list := files(t, dir, "")
	if len(list) != 1 || !strings.HasSuffix(list[0], checkpointSuffix) {
		t.Fatalf("the folder has %v, want one checkpoint", list)
	}
	if info, err := os.Stat(list[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the checkpoint has mode %v, %v; want 0600", info.Mode(), err)
	}
	return src, p.owners[0], dir
}

func TestACheckpointSavesReadingTheStore(t *testing.T) {
	src, owner, dir := checkpointed(t, 60)
	p := newPlayer(9)
	p.owners, p.next = []memory.Owner{owner}, 1000
	src.steps = 0
	src.put(owner, p.item(owner))
	ix := openAt(src, dir, 0)
	defer ix.Close()
	for range 20 {
		agree(t, src.reference(), ix, p.search())
	}
	if src.pulls > 3 || src.steps > 20 {
		t.Errorf("%d memories were read in %d pulls, want only the newest", src.steps, src.pulls)
	}
	src.put(owner, p.item(owner), p.item(owner))
	agree(t, src.reference(), ix, p.search())
}

func TestDropForgetsMemoryAndDisk(t *testing.T) {
	src, owner, dir := checkpointed(t, 60)
	ix := openAt(src, dir, 0)
	defer ix.Close()
	noError(t)(ix.Search(context.Background(), everything(owner)))
	for range 2 { // the second time there is nothing to forget
		noError(t)(ix.Drop(owner))
	}
	if left := files(t, dir, ""); left != nil || ix.residentBytes != 0 || len(ix.entries) != 0 {
		t.Errorf("%v, %d bytes and %d owners are left", left, ix.residentBytes, len(ix.entries))
	}
	agree(t, src.reference(), ix, everything(owner))
}

func TestUnusableCheckpointsAreRemovedAndSearchesRight(t *testing.T) {
	rewrite := func(edit func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, edit(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	replaced := func(old, with string) func(*testing.T, string) {
		return rewrite(func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				t.Fatalf("the checkpoint has no %s", old)
			}
			return summed(bytes.Replace(b, []byte(old), []byte(with), 1))
		})
	}
	for name, harm := range map[string]func(*testing.T, string){
		"empty":          rewrite(func([]byte) []byte { return nil }),
		"short":          rewrite(func(b []byte) []byte { return b[:5] }),
		"torn":           rewrite(func(b []byte) []byte { return b[:len(b)/2] }),
		"cut":            rewrite(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":         rewrite(func(b []byte) []byte { return append(b, 0) }),
		"flipped":        rewrite(func(b []byte) []byte { b[len(b)/2] ^= 4; return b }),
		"other sum":      rewrite(func(b []byte) []byte { b[len(b)-1] ^= 4; return b }),
		"zeros":          rewrite(func(b []byte) []byte { clear(b[len(b)/3:]); return b }),
		"other magic":    rewrite(func(b []byte) []byte { b[0]++; return summed(b) }),
		"other format":   replaced(`"Format":`+strconv.Itoa(checkpointFormat), `"Format":1`),
		"other owner":    replaced("default/user/ana", "default/user/eve"),
		"other model":    replaced(`"Model":"m"`, `"Model":"n"`),
		"other language": replaced(languageFingerprint(), strings.Repeat("0", len(languageFingerprint()))),
		"other scope":    replaced(`"owner":"default/user/ana"`, `"owner":"default/user/eve"`),
		"fewer dims":     replaced(`"Dims":16`, `"Dims":15`),
		"endless dims":   replaced(`"Dims":16`, `"Dims":9000000000000000000`),
		"endless rows":   replaced(`"Rows":`, `"Rows":90000000`),
		"future":         replaced(`"Version":60`, `"Version":61`),
	} {
		t.Run(name, func(t *testing.T) {
			src, owner, dir := checkpointed(t, 60)
			file := files(t, dir, checkpointSuffix)[0]
			harm(t, file)
			said := 0
			ix := openAt(src, dir, 0)
			defer ix.Close()
			ix.opts.Report = func(error) { said++ }
			ix.checkpointMinimum = 1 << 30 // no new one is made
			agree(t, src.reference(), ix, everything(owner))
			if _, err := os.Stat(file); !os.IsNotExist(err) || said != 1 {
				t.Errorf("the checkpoint is still there (%v), and %d were told", err, said)
			}
		})
	}
}

// summed puts the right checksum under a checkpoint.
func summed(b []byte) []byte {
	if len(b) < 4 {
		return b
	}
	binary.NativeEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
	return b
}

// A store that was put back to an older state and went on from there is at the
// checkpoint's version again, with other memories.
func TestACheckpointOfALostHistoryIsNotUsed(t *testing.T) {
	src, owner, dir := checkpointed(t, 60)
	h := src.owners[owner]
	h.version -= 10
	h.steps = slices.DeleteFunc(h.steps, func(s memory.IndexItem) bool { return s.Version > h.version })
	h.present = map[string]memory.IndexItem{}
	for _, s := range h.steps {
		if h.present[s.ID] = s; s.Removed {
			delete(h.present, s.ID)
		}
	}
	p := newPlayer(11)
	p.owners, p.next = []memory.Owner{owner}, 2000
	for range 13 {
		src.put(owner, p.item(owner))
	}
	ix := openAt(src, dir, 0)
	defer ix.Close()
	for range 20 {
		agree(t, src.reference(), ix, p.search())
	}
}

func TestWhatACrashLeftIsRemoved(t *testing.T) {
	src, owner, dir := checkpointed(t, 60)
	left := filepath.Join(dir, "0123.idx.17"+temporarySuffix)
	noError(t)(os.WriteFile(left, []byte("half a checkpo"), 0o600))
	ix := openAt(src, dir, 0)
	defer ix.Close()
	agree(t, src.reference(), ix, everything(owner))
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

func TestAFolderThatCannotBeWrittenFailsNoSearch(t *testing.T) {
	src, owner, dir := checkpointed(t, 60)
	file := filepath.Join(dir, "file")
	noError(t)(os.WriteFile(file, nil, 0o600))
	said := make(chan error, 100)
	ix := openAt(src, filepath.Join(file, "below"), 0)
	ix.opts.Report = func(err error) { said <- err }
	agree(t, src.reference(), ix, everything(owner))
	noError(t)(ix.Close())
	if len(said) == 0 {
		t.Error("nobody was told")
	}
}

// Whatever is in a file, reading and searching it does not panic.
func FuzzDecode(f *testing.F) {
	p, src := newPlayer(3), newSource()
	p.owners = p.owners[:1]
	owner := p.owners[0]
	for range 12 {
		p.step(src)
	}
	sh := newShard()
	for _, step := range src.owners[owner].steps {
		sh.apply(step)
	}
	want := checkpointHeader{Owner: owner, Model: "m", Language: languageFingerprint()}
	var b bytes.Buffer
	noError(f)(encodeCheckpoint(context.Background(), &b, want, sh.freeze()))
	f.Add(b.Bytes())
	noError(f)(decodeCheckpoint(context.Background(), bytes.NewReader(b.Bytes()), int64(b.Len()), want))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = summed(bytes.Clone(data))
		c, err := decodeCheckpoint(context.Background(), bytes.NewReader(data), int64(len(data)), want)
		if err != nil {
			return
		}
		s := everything(owner)
		s.Vector = make([]float32, c.dims%1000)
		if _, err := searchLocked(context.Background(), []*shard{{contents: *c}}, s); err != nil {
			t.Error(err)
		}
		for n := range c.docs {
			c.remove(c.idOf(int32(n)))
		}
	})
}
