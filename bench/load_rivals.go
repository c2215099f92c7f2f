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

	chromem "github.com/philippgille/chromem-go"

	_ "github.com/loci-memory/loci" // its store registers the driver "sqlite"
	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// rival is another way to keep texts and find them again. It runs in this process: nothing of its time
// is HTTP or a model. It is safe for concurrent use.
type rival struct {
	name   string
	add    func(ctx context.Context, d document) error
	search func(ctx context.Context, q document) (ids []string, err error) // the topK best, best first
}

// document is a text or a question, with its vector and the words that a search goes by.
type document struct {
	ID, Text string
	Vector   []float32
	Words    []string
}

// documents embeds texts by Loci's own offline embedder, and takes small words away, as one who uses a
// word index with care would.
func documents(ctx context.Context, prefix string, texts []string) ([]document, error) {
	vectors, err := embed.Lexical{}.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	out := make([]document, len(texts))
	for i, s := range texts {
		words := slices.DeleteFunc(text.Words(s), func(w string) bool { return text.Term(w) == "" })
		out[i] = document{ID: fmt.Sprint(prefix, i), Text: s, Vector: vectors[i], Words: words}
	}
	return out, nil
}

// chromemGo is an embedded vector database that scans all vectors on all cores. It is measured without
// its files, which is how it is fastest.
func chromemGo() (rival, error) {
	refuse := func(context.Context, string) ([]float32, error) {
		return nil, errors.New("every document brings its vector")
	}
	c, err := chromem.NewDB().CreateCollection("memories", nil, refuse)
	add := func(ctx context.Context, d document) error {
		return c.AddDocument(ctx, chromem.Document{ID: d.ID, Content: d.Text, Embedding: d.Vector})
	}
	search := func(ctx context.Context, q document) (ids []string, err error) {
		found, err := c.QueryEmbedding(ctx, q.Vector, min(topK, c.Count()), nil, nil)
		for _, f := range found {
			ids = append(ids, f.ID)
		}
		return ids, err
	}
	return rival{"chromem-go 0.7.0, in memory", add, search}, err
}

// fts5 is SQLite's full-text index: the question's words, joined by OR, in order of bm25, stemmed by
// Porter. It is as durable as Loci: a write-ahead log, synchronous=FULL. The caller closes the database.
func fts5(ctx context.Context, path string, clients int) (rival, *sql.DB, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	const durable = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	db, err := sql.Open("sqlite", u.String()+durable)
	if err != nil {
		return rival{}, nil, err
	}
	db.SetMaxIdleConns(clients)
	const table = `CREATE VIRTUAL TABLE memories USING fts5(id UNINDEXED, content, tokenize = 'porter unicode61')`
	_, err = db.ExecContext(ctx, table)
	var writing sync.Mutex // SQLite has one writer at a time
	add := func(ctx context.Context, d document) error {
		writing.Lock()
		defer writing.Unlock()
		_, err := db.ExecContext(ctx, `INSERT INTO memories (id, content) VALUES (?, ?)`, d.ID, d.Text)
		return err
	}
	search := func(ctx context.Context, q document) (ids []string, err error) {
		anyOf := `"` + strings.Join(q.Words, `" OR "`) + `"`
		const query = `SELECT id, content FROM memories WHERE memories MATCH ? ORDER BY bm25(memories) LIMIT ?`
		rows, err := db.QueryContext(ctx, query, anyOf, topK)
		if err != nil {
			return nil, err
		}
		defer rows.Close() //nolint:errcheck // its error is read below
		for rows.Next() {
			var id, content string
			if err := rows.Scan(&id, &content); err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, rows.Err()
	}
	return rival{"SQLite FTS5", add, search}, db, err
}

// rivals measures other ways beside Loci in turns: the same texts, the same questions, the same
// vectors, the same number of results.
func (l *load) rivals(ctx context.Context) (err error) {
	questions := talk.New(4).Questions(variety, l.said)
	texts := talk.New(20).Sentences(2 * (l.requests + warmUp))
	said, err := documents(ctx, "", slices.Concat(l.said, questions, texts))
	if err != nil {
		return err
	}
	asked, added := said[l.memories:][:variety], said[l.memories+variety:]
	chromem, err := chromemGo()
	if err != nil {
		return err
	}
	fts, db, err := fts5(ctx, filepath.Join(l.dir, "fts5.db"), l.clients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	others := []rival{chromem, fts}
	for _, r := range others {
		for _, d := range said[:l.memories] {
			if err := r.add(ctx, d); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	for i, clients := range []int{1, l.clients} {
		recalls := []task{l.asking("recall, Loci, over HTTP", questions)}
		adds := []task{l.adding("add one, Loci, durable, over HTTP", uint64(20+clients))}
		for _, r := range others {
			recalls = append(recalls, task{name: "recall, " + r.name, do: timed(func(ctx context.Context, i int) error {
				found, err := r.search(ctx, asked[(i+warmUp)%len(asked)])
				if err == nil && len(found) == 0 {
					err = errors.New("nothing was found")
				}
				return err
			})})
			docs := added[i*(l.requests+warmUp):]
			adds = append(adds, task{name: "add one, " + r.name, do: timed(func(ctx context.Context, i int) error {
				return r.add(ctx, docs[i+warmUp])
			})})
		}
		err := errors.Join(l.measure(ctx, "rivals", clients, recalls...), l.measure(ctx, "rivals", clients, adds...))
		if err != nil {
			return err
		}
	}
	return nil
}
