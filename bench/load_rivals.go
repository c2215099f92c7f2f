package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	_ "github.com/loci-memory/loci" // its store registers the driver "sqlite"
	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/text"
)

// fts5 is SQLite's full-text index, stemmed by Porter, as durable as Loci: a write-ahead log,
// synchronous=FULL. It runs in this process: nothing of its time is HTTP. It is safe for concurrent use.
type fts5 struct {
	db      *sql.DB
	writing sync.Mutex // SQLite has one writer at a time
}

// openFTS5 opens one in a new file. The caller closes its database.
func openFTS5(ctx context.Context, path string, clients int) (*fts5, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	const durable = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	db, err := sql.Open("sqlite", u.String()+durable)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(clients)
	_, err = db.ExecContext(ctx, `CREATE VIRTUAL TABLE memories USING fts5(content, tokenize = 'porter unicode61')`)
	return &fts5{db: db}, err
}

func (f *fts5) add(ctx context.Context, text string) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	_, err := f.db.ExecContext(ctx, `INSERT INTO memories (content) VALUES (?)`, text)
	return err
}

// search returns the topK best texts for a question, in order of bm25. Its words are joined by OR,
// without the small ones, as one who uses a word index with care would.
func (f *fts5) search(ctx context.Context, question string) (found []string, err error) {
	words := slices.DeleteFunc(text.Words(question), func(w string) bool { return text.Term(w) == "" })
	const query = `SELECT content FROM memories WHERE memories MATCH ? ORDER BY bm25(memories) LIMIT ?`
	rows, err := f.db.QueryContext(ctx, query, `"`+strings.Join(words, `" OR "`)+`"`, topK)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // its error is read below
	for rows.Next() {
		var content string
		if err := rows.Scan(&content); err != nil {
			return nil, err
		}
		found = append(found, content)
	}
	return found, rows.Err()
}

// rivals measures FTS5 beside Loci in turns: the same texts, the same questions, the same number of
// results.
func (l *load) rivals(ctx context.Context) error {
	fts, err := openFTS5(ctx, filepath.Join(l.dir, "fts5.db"), l.clients)
	if err != nil {
		return err
	}
	defer fts.db.Close()
	for _, s := range l.said {
		if err := fts.add(ctx, s); err != nil {
			return fmt.Errorf("fill FTS5: %w", err)
		}
	}
	questions, added := talk.New(4).Questions(variety, l.said), talk.New(20)
	for _, clients := range []int{1, l.clients} {
		texts := added.Sentences(l.requests + warmUp)
		recall := task{name: "recall, SQLite FTS5", do: timed(func(ctx context.Context, i int) error {
			found, err := fts.search(ctx, questions[(i+warmUp)%len(questions)])
			if err == nil && len(found) == 0 {
				err = errors.New("nothing was found")
			}
			return err
		})}
		add := task{name: "add one, SQLite FTS5", do: timed(func(ctx context.Context, i int) error {
			return fts.add(ctx, texts[i+warmUp])
		})}
		err := errors.Join(
			l.measure(ctx, "rivals", clients, l.asking("recall, Loci, over HTTP", questions), recall),
			l.measure(ctx, "rivals", clients, l.adding("add one, Loci, durable, over HTTP", uint64(20+clients)), add))
		if err != nil {
			return err
		}
	}
	return nil
}
