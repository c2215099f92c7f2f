package sqlstore_test

import (
	"database/sql"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestVectorsOfBothFormsAreRead: of few values that are not zero, of many, and as
// they were before there were two forms.
func TestVectorsOfBothFormsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	s := openFile(t, path)
	r := rand.New(rand.NewPCG(5, 5))
	rows := map[string][]float32{"few": make([]float32, 384), "many": make([]float32, 384), "raw": make([]float32, 384), "signs": make([]float32, 64)}
	for i := range 384 {
		rows["many"][i] = float32(r.IntN(15)-7) / 8
	}
	for range 60 {
		rows["few"][r.IntN(384)] = float32(r.IntN(15)-7) / 8
	}
	rows["raw"][0], rows["raw"][383] = 1, -0.5
	rows["signs"][3] = float32(math.Copysign(0, -1))
	for id, values := range rows {
		f := memtest.Fact(ana, id)
		f.ID = id
		if err := addFact(s, f, func() []float32 { return values }); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	raw := make([]byte, 2*384)
	raw[1], raw[2*383+1] = 0x3c, 0xb8 // 1 and -0.5
	if _, err := db.Exec(`UPDATE vectors SET data = ? WHERE memory = 'raw'`, raw); err != nil {
		t.Fatal(err)
	}
	for id, most := range map[string]int{"few": 2 * (2 + 24 + 60), "many": 2 * 384, "raw": 2 * 384, "signs": 2 * (2 + 4 + 1)} {
		var size int
		if err := db.QueryRow(`SELECT length(data) FROM vectors WHERE memory = ?`, id).Scan(&size); err != nil {
			t.Fatal(err)
		}
		if size > most {
			t.Errorf("%s: %d bytes, want %d at most", id, size, most)
		}
	}
	read := 0
	_, err = s.Since(t.Context(), ana, "lexical:384", 0, func(item memory.IndexItem) error {
		read++
		bits := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
		if want := rows[item.ID]; !slices.EqualFunc(item.Vector, want, bits) {
			t.Errorf("%s: got %v, want %v", item.ID, item.Vector, want)
		}
		return nil
	})
	if err != nil || read != len(rows) {
		t.Errorf("%d items, %v", read, err)
	}
}

// TestVectorsThatMakeNoSenseAreNone: the memory is there all the same.
func TestVectorsThatMakeNoSenseAreNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	s := openFile(t, path)
	if err := addFact(s, memtest.Fact(ana, "a"), func() []float32 { return []float32{1} }); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, data := range [][]byte{{}, {1}, {0xff, 0xff, 20, 0, 1, 0}, {0xff, 0xff, 1, 0, 1, 0, 0, 0x3c, 0, 0}} {
		if _, err := db.Exec(`UPDATE vectors SET data = ?`, data); err != nil {
			t.Fatal(err)
		}
		read := 0
		_, err := s.Since(t.Context(), ana, "lexical:384", 0, func(item memory.IndexItem) error {
			if read++; item.Vector != nil {
				t.Errorf("%v is read as %v", data, item.Vector)
			}
			return nil
		})
		if err != nil || read != 1 {
			t.Errorf("%v: %d items, %v", data, read, err)
		}
	}
}
