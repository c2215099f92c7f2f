package sqlstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// TestPostgresReadsAPageAtATimeOfWhoHasMuch walks through all that one owner has, where most
// have little, by statements whose plans a server would keep: each row is read about once,
// and not again for every page.
func TestPostgresReadsAPageAtATimeOfWhoHasMuch(t *testing.T) {
	const much, others, little = 12_000, 400, 5
	address := pgtest.NewSchema(t)
	s := openServer(t, address, Options{})
	b := memtest.Batch(memtest.Ben, "talk", 0, "This was said.")
	run := memtest.Run("run")
	noError(t)(s.Append(t.Context(), memtest.Ben, b))
	noError(t)(s.Apply(t.Context(), memtest.Ben, run, memtest.Add(memtest.Fact(memtest.Ben, "fact"))))
	db := pgtest.Open(t, address)
	for _, table := range []string{"facts", "turns", "conversations"} {
		for _, of := range []struct {
			owner string
			from  int
			rows  int
		}{{`'` + string(memtest.Ana) + `'`, 0, much}, {`'default/user/' || i % ` + fmt.Sprint(others), much, others * little}} {
			_, err := db.Exec(fmt.Sprintf(`INSERT INTO %[1]s SELECT r.* FROM (SELECT to_jsonb(m) AS one FROM %[1]s m WHERE owner = '%[2]s' LIMIT 1) m, generate_series(%[3]d, %[4]d) i,
				LATERAL jsonb_populate_record(NULL::%[1]s, one || jsonb_build_object('owner', %[5]s, 'id', 'id ' || i, 'hash', 'hash ' || i,
				'version', i, 'created_at', i, 'updated_at', i, 'chain', i::text, 'place', i)) r`, table, memtest.Ben, of.from+1, of.from+of.rows, of.owner))
			if err != nil {
				t.Fatal(table, err)
			}
		}
	}
	for _, does := range []string{
		`INSERT INTO owners (owner, version, clock) VALUES ('` + string(memtest.Ana) + `', ` + fmt.Sprint(much) + `, 0)`,
		`ANALYZE`,
	} {
		if _, err := db.Exec(does); err != nil {
			t.Fatal(does, err)
		}
	}
	walk := func(read func(cursor string) (string, error)) (pages int, err error) {
		for cursor := ""; err == nil && (pages == 0 || cursor != ""); pages++ {
			cursor, err = read(cursor)
		}
		return pages, err
	}
	for _, c := range []struct {
		name, table string
		do          func(s *Store) (pages int, err error)
	}{
		{"facts are listed", "facts", func(s *Store) (int, error) {
			return walk(func(cursor string) (string, error) {
				p, err := s.List(t.Context(), memtest.Ana, memory.Query{Limit: 500, Cursor: cursor})
				return p.Next, err
			})
		}},
		{"a text is looked for", "facts", func(s *Store) (int, error) {
			p, err := s.List(t.Context(), memtest.Ana, memory.Query{Text: "nobody said this"})
			if len(p.Memories) > 0 {
				return 0, fmt.Errorf("found %d", len(p.Memories))
			}
			return 20, err
		}},
		{"conversations are listed", "conversations", func(s *Store) (int, error) {
			return walk(func(cursor string) (string, error) {
				p, err := s.Conversations(t.Context(), memtest.Ana, memory.ConversationQuery{Limit: 500, Cursor: cursor})
				return p.Next, err
			})
		}},
		{"an index is made", "turns", func(s *Store) (pages int, err error) {
			_, err = s.Since(t.Context(), memtest.Ana, "m", 0, func(memory.IndexItem) error { pages++; return nil })
			return pages / 500, err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := try(OpenPostgres(t.Context(), pgtest.WithParameter(address, "application_name", "pages"), Options{})).orFail(t)
			for _, r := range []*reader{s.reader, s.sinceReader} {
				r.db.SetMaxOpenConns(1) // so that it is the one whose plans are kept
			}
			before := fetched(t, address, c.table)
			pages, err := c.do(s)
			if err != nil || pages < 15 {
				t.Fatalf("got %d pages, %v", pages, err)
			}
			noError(t)(s.Close()) // then it says what it read
			got := 0
			for range 200 {
				if got = fetched(t, address, c.table) - before; got >= much {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if got < much || got > 2*much {
				t.Errorf("%d rows were read of %d", got, much)
			}
		})
	}
}

// fetched is how many rows of a table were read by its indexes, as far as it was told.
func fetched(t *testing.T, address, table string) (n int) {
	t.Helper()
	noError(t)(pgtest.Open(t, address).QueryRow(`SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = $1`, table).Scan(&n))
	return n
}
