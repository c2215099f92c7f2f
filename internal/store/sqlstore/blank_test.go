package sqlstore

import (
	"bytes"
	"context"
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
	db, err := sql.Open("sqlite", dsn(path, fmt.Sprintf("_pragma=page_size(%d)&_pragma=journal_mode(wal)", pageSize)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn, path
}

func run(t *testing.T, conn *sql.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
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
	for _, size := range []int{512, 4096} {
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
				run(t, conn, `BEGIN IMMEDIATE`)
				wrote, err := blankPages(conn)
				if err != nil || wrote == 0 {
					t.Fatalf("wrote %d pages, %v", wrote, err)
				}
				run(t, conn, `COMMIT`)
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
				run(t, conn, `BEGIN IMMEDIATE`)
				if wrote, err := blankPages(conn); err != nil || wrote != 0 {
					t.Errorf("a second time: wrote %d pages, %v", wrote, err)
				}
				run(t, conn, `COMMIT`)
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
		if _, err := blankPages(conn); err == nil {
			t.Errorf("%s: no error", name)
		}
		run(t, conn, `ROLLBACK`)
	}
}

func FuzzBlankCell(f *testing.F) {
	f.Add([]byte{0x0d, 5, 1, 'a', 'b', 'c', 'd', 'e'}, 1)
	f.Fuzz(func(t *testing.T, page []byte, at int) {
		if len(page) == 0 {
			return
		}
		data := make([]byte, 512)
		copy(data, page)
		b := blanker{usable: 512}
		for _, kind := range []byte{indexInner, tableInner, indexLeaf, tableLeaf} {
			c, err := b.cell(kind, data, at)
			if err == nil && (c.size < 1 || at+c.size > 512 || c.more < 0) {
				t.Errorf("at %d: %+v", at, c)
			}
		}
	})
}
