package sqlstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scratch is a database that is not ours, in WAL mode as ours is.
func scratch(t *testing.T, pageSize int) (*sql.Conn, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scratch.db")
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, fmt.Sprintf(`PRAGMA page_size = %d`, pageSize))
	run(t, conn, `PRAGMA journal_mode = wal`)
	var size int
	if err := conn.QueryRowContext(t.Context(), `PRAGMA page_size`).Scan(&size); err != nil || size != pageSize {
		t.Fatalf("got pages of %d bytes, want %d (%v)", size, pageSize, err)
	}
	return conn, path
}

func run(t *testing.T, conn *sql.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// blankAll blanks the file in portions of so many pages, and says how many it wrote. Others
// write between the portions.
func blankAll(t *testing.T, conn *sql.Conn, most int, others func()) (wrote int) {
	t.Helper()
	run(t, conn, `PRAGMA secure_delete = 1`)
	defer run(t, conn, `PRAGMA secure_delete = 0`)
	pass := &wiper{most: most}
	for more := true; more; {
		var err error
		run(t, conn, `BEGIN IMMEDIATE`)
		if more, err = pass.portion(conn); err != nil {
			t.Fatal(err)
		}
		run(t, conn, `COMMIT`)
		wrote += pass.wrote
		if more && others != nil {
			others()
		}
	}
	return wrote
}

// dump is all rows of a database, and what SQLite finds wrong with it.
func dump(t *testing.T, conn *sql.Conn) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT 'plain ' || k || hex(v) FROM plain ORDER BY k`, `SELECT 'keyed ' || k || hex(v) FROM keyed ORDER BY k`,
		`SELECT 'by index ' || count(*) FROM plain INDEXED BY plain_v WHERE v > ''`, `PRAGMA integrity_check`, `SELECT 'says ' || sql FROM sqlite_schema`,
	} {
		rows, err := conn.QueryContext(context.Background(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var row sql.NullString
			if err := rows.Scan(&row); err != nil {
				t.Fatal(err)
			}
			all = append(all, row.String)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(all, "\n")
}

// TestBlankLeavesWhatStandsAndNothingElse writes and deletes rows of every length, each of
// which begins and ends with its own word, and looks for the words of those that are gone.
func TestBlankLeavesWhatStandsAndNothingElse(t *testing.T) {
	for _, size := range []int{512, 4096, 65536} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(size, " ", seed), func(t *testing.T) {
				conn, path := scratch(t, size)
				random := rand.New(rand.NewPCG(seed, uint64(size)))
				run(t, conn, `CREATE TABLE plain (id INTEGER PRIMARY KEY, k TEXT, v TEXT)`)
				run(t, conn, `CREATE INDEX plain_v ON plain (v)`)
				run(t, conn, `CREATE TABLE keyed (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID`)
				run(t, conn, `CREATE TABLE passing (v TEXT)`)
				var stands, gone []string
				for round := range 3 {
					run(t, conn, `BEGIN`)
					for i := range 120 {
						word := fmt.Sprintf("w%dr%di%dd", seed, round, i)
						value := word + "b" + strings.Repeat(".", random.IntN([]int{8, 600, 3 * size}[random.IntN(3)])) + word + "e"
						for _, table := range []string{"plain", "keyed"} {
							run(t, conn, `INSERT INTO `+table+` (k, v) VALUES (?, ?)`, word, value)
						}
						run(t, conn, `INSERT INTO passing VALUES (?)`, word+"p")
						gone = append(gone, word+"p")
						stands = append(stands, word)
						if random.IntN(3) > 0 && len(stands) > 20 {
							at := random.IntN(len(stands))
							for _, table := range []string{"plain", "keyed"} {
								run(t, conn, `DELETE FROM `+table+` WHERE k = ?`, stands[at])
							}
							gone = append(gone, stands[at])
							stands = slices.Delete(stands, at, at+1)
						}
					}
					run(t, conn, `COMMIT`)
					run(t, conn, `PRAGMA wal_checkpoint(TRUNCATE)`)
				}
				run(t, conn, `DROP TABLE passing`)
				want := dump(t, conn)
				if wrote := blankAll(t, conn, 1<<30, nil); wrote == 0 {
					t.Fatal("wrote no page")
				}
				run(t, conn, `PRAGMA wal_checkpoint(TRUNCATE)`)
				if got := dump(t, conn); got != want || !strings.Contains(got, "\nok\n") {
					t.Error("what stands is another thing now")
				}
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range gone {
					if bytes.Contains(file, []byte(word)) {
						t.Errorf("%s is still in the file", word)
					}
				}
				if wrote := blankAll(t, conn, 1<<30, nil); wrote != 0 {
					t.Errorf("a second time: wrote %d pages", wrote)
				}
			})
		}
	}
}

// TestBlankChangesNothingThatItDoesNotUnderstand damages a page's header.
func TestBlankChangesNothingThatItDoesNotUnderstand(t *testing.T) {
	conn, _ := scratch(t, 4096)
	run(t, conn, `CREATE TABLE plain (k TEXT, v TEXT)`)
	for range 50 {
		run(t, conn, `INSERT INTO plain VALUES (hex(randomblob(50)), hex(randomblob(1500)))`)
	}
	run(t, conn, `DELETE FROM plain WHERE rowid % 3 = 0`)
	for name, damage := range map[string]func(page []byte){
		"no kind":      func(page []byte) { page[0] = 7 },
		"no such page": func(page []byte) { page[9] = 0xff },
		"many rows":    func(page []byte) { page[3], page[4] = 0xff, 0xff },
		"no place":     func(page []byte) { page[12], page[13] = 0, 0 },
	} {
		run(t, conn, `BEGIN IMMEDIATE`)
		var page []byte
		if err := conn.QueryRowContext(t.Context(), `SELECT data FROM sqlite_dbpage WHERE pgno = 2`).Scan(&page); err != nil {
			t.Fatal(err)
		}
		damage(page)
		run(t, conn, `UPDATE sqlite_dbpage SET data = ? WHERE pgno = 2`, page)
		if _, err := (&wiper{most: 1 << 30}).portion(conn); err == nil {
			t.Errorf("%s: no error", name)
		}
		run(t, conn, `ROLLBACK`)
	}
}

// TestBlankInPortionsWhileOthersWrite has rows of all tables come and go between the portions,
// and looks for the words of those that were gone before the first.
func TestBlankInPortionsWhileOthersWrite(t *testing.T) {
	for seed := range uint64(3) {
		conn, path := scratch(t, 512)
		random := rand.New(rand.NewPCG(seed, 1))
		const tables = 8
		var stands []string
		next := 0
		insert := func(n int) {
			for range n {
				word := fmt.Sprintf("w%dd", next)
				next++
				value := word + strings.Repeat(".", random.IntN([]int{8, 300, 2500}[random.IntN(3)])) + word
				run(t, conn, fmt.Sprintf(`INSERT INTO t%d VALUES (?, ?)`, random.IntN(tables)), word, value)
				stands = append(stands, word)
			}
		}
		remove := func(n int) (gone []string) {
			for range min(n, len(stands)) {
				at := random.IntN(len(stands))
				for i := range tables {
					run(t, conn, fmt.Sprintf(`DELETE FROM t%d WHERE k = ?`, i), stands[at])
				}
				gone = append(gone, stands[at])
				stands = slices.Delete(stands, at, at+1)
			}
			return gone
		}
		for i := range tables {
			run(t, conn, fmt.Sprintf(`CREATE TABLE t%d (k TEXT PRIMARY KEY, v TEXT)`, i)+[]string{"", " WITHOUT ROWID"}[i%2])
		}
		run(t, conn, `BEGIN`)
		insert(900)
		gone := remove(400)
		run(t, conn, `COMMIT`)
		portions := 0
		blankAll(t, conn, 30, func() {
			portions++
			run(t, conn, `BEGIN`)
			switch random.IntN(3) {
			case 0:
				remove(150)
			case 1:
				insert(150)
			default:
				remove(40)
				insert(40)
			}
			run(t, conn, `COMMIT`)
		})
		if portions < 4 {
			t.Errorf("others wrote %d times, want more", portions)
		}
		run(t, conn, `PRAGMA wal_checkpoint(TRUNCATE)`)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range gone {
			if bytes.Contains(file, []byte(word)) {
				t.Errorf("seed %d: %s is still in the file", seed, word)
			}
		}
		var found int
		var well string
		if err := conn.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&well); err != nil || well != "ok" {
			t.Errorf("seed %d: %s, %v", seed, well, err)
		}
		for i := range tables {
			var n int
			if err := conn.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*) FROM t%d WHERE substr(v, 1, length(k)) = k AND substr(v, -length(k)) = k`, i)).Scan(&n); err != nil {
				t.Fatal(err)
			}
			found += n
		}
		if found != len(stands) {
			t.Errorf("seed %d: found %d rows as they were written, want %d", seed, found, len(stands))
		}
	}
}

// TestBlankChangesNoRowOfMany compares a hundred thousand rows before and after.
func TestBlankChangesNoRowOfMany(t *testing.T) {
	conn, _ := scratch(t, 4096)
	run(t, conn, `PRAGMA synchronous = off`)
	run(t, conn, `CREATE TABLE plain (id INTEGER PRIMARY KEY, k TEXT, v TEXT)`)
	run(t, conn, `CREATE TABLE keyed (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID`)
	run(t, conn, `CREATE INDEX plain_v ON plain (v)`)
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO `
	// A few of them are longer than a page.
	run(t, conn, numbers+`plain SELECT i, 'k' || i, hex(zeroblob(i % 97)) || i || iif(i % 500 = 0, hex(zeroblob(i / 5)), '') FROM n`)
	run(t, conn, numbers+`keyed SELECT 'k' || (i * 7919 % 50021), hex(zeroblob(i % 61)) || i || iif(i % 700 = 0, hex(zeroblob(i / 5)), '') FROM n`)
	run(t, conn, `DELETE FROM plain WHERE id % 11 = 3`)
	run(t, conn, `DELETE FROM keyed WHERE k LIKE '%3'`)
	run(t, conn, `UPDATE plain SET v = substr(v, 3) WHERE id % 13 = 5`)
	sum := func() string {
		hash := sha256.New()
		_, _ = hash.Write([]byte(dump(t, conn)))
		return fmt.Sprintf("%x", hash.Sum(nil))
	}
	before := sum()
	if wrote := blankAll(t, conn, portionPages, nil); wrote < 100 {
		t.Errorf("wrote %d pages, want many", wrote)
	}
	if after := sum(); after != before {
		t.Error("rows are others than before")
	}
	if after := dump(t, conn); !strings.Contains(after, "\nok\n") {
		t.Error("SQLite finds something wrong")
	}
}

// TestBlankTellsOfAPageThatIsNowhere hides what a tree leads to.
func TestBlankTellsOfAPageThatIsNowhere(t *testing.T) {
	conn, _ := scratch(t, 4096)
	run(t, conn, `CREATE TABLE plain (k TEXT, v TEXT)`)
	run(t, conn, `INSERT INTO plain VALUES ('a', hex(zeroblob(5000)))`)
	run(t, conn, `PRAGMA writable_schema = 1`)
	run(t, conn, `DELETE FROM sqlite_schema`)
	run(t, conn, `BEGIN IMMEDIATE`)
	if _, err := (&wiper{most: 1 << 30}).portion(conn); err == nil {
		t.Error("no error")
	}
	run(t, conn, `ROLLBACK`)
}

func FuzzBlankCell(f *testing.F) {
	f.Add([]byte{0x0d, 5, 1, 'a', 'b', 'c', 'd', 'e'}, 1)
	f.Fuzz(func(t *testing.T, page []byte, at int) {
		if len(page) == 0 {
			return
		}
		data := make([]byte, 512)
		copy(data, page)
		b := wiper{usable: 512}
		for _, kind := range []byte{indexInner, tableInner, indexLeaf, tableLeaf} {
			c, err := b.cell(kind, data, at)
			if err == nil && (c.size < 1 || at+c.size > 512 || c.more < 0) {
				t.Errorf("at %d: %+v", at, c)
			}
		}
	})
}
