package sqlstore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryKeyStartsWithOwner(t *testing.T) {
	db := openedBySQL(t)
	for _, table := range texts(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`) {
		columns := texts(t, db, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
		if columns[0] != "owner" {
			t.Errorf("table %s: got first column %s, want owner", table, columns[0])
		}
		key := texts(t, db, `SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`, table)
		if len(key) == 0 || key[0] != "owner" {
			t.Errorf("table %s: got key %q, want one that starts with owner", table, key)
		}
		for _, index := range texts(t, db, `SELECT name FROM pragma_index_list(?)`, table) {
			if index == "jobs_due" || index == "trace_facts_fact" { // workers serve all owners, and who was shown what is erased is not known
				continue
			}
			if columns := texts(t, db, `SELECT name FROM pragma_index_info(?) ORDER BY seqno`, index); columns[0] != "owner" {
				t.Errorf("index %s: got columns %q, want owner first", index, columns)
			}
		}
	}
}

// TestDocNamesEveryColumn compares the package's comment with the schema.
func TestDocNamesEveryColumn(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string][]string{}
	table := ""
	for line := range strings.Lines(string(doc)) {
		line, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			continue
		}
		line = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(line, "")
		words := regexp.MustCompile(`[a-z_]+`).FindAllString(line, -1)
		if line[0] != ' ' {
			table, words = words[0], words[1:]
		}
		described[table] = append(described[table], words...)
	}

	db := openedBySQL(t)
	tables := texts(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`)
	for _, table := range tables {
		if columns := texts(t, db, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, table); !slices.Equal(described[table], columns) {
			t.Errorf("table %s: got %q in the comment, want %q", table, described[table], columns)
		}
		delete(described, table)
	}
	for table := range described {
		t.Errorf("the comment describes %s, which is not a table", table)
	}
}

// openedBySQL returns a new database of ours without its store.
func openedBySQL(t *testing.T) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loci.db")
	s := openFile(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openSQL(t, path)
}

func openSQL(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func texts(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestListsAreReadInOrderOfAnIndex keeps a page of memories of one time from sorting them all.
func TestListsAreReadInOrderOfAnIndex(t *testing.T) {
	db := openedBySQL(t)
	for _, table := range []string{"facts", "turns", "summaries"} {
		rows, err := db.Query(`EXPLAIN QUERY PLAN SELECT * FROM ` + table + ` WHERE owner = 'o' AND status = 'active'
			AND (created_at, id) < (1, 'a') ORDER BY created_at DESC, id DESC LIMIT 8`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s: got the plan %q, want no sorting", table, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
