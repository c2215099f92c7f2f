package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/loci-memory/loci" // its store registers the driver "sqlite"
	"github.com/loci-memory/loci/internal/text"
)

// fts5 is SQLite's full-text index: the question's words but the small ones, joined
// by OR, in order of bm25, stemmed by Porter. It is as durable as Loci: a write-ahead
// log, synchronous=FULL.
type fts5 struct {
	writer *sql.DB // one connection: SQLite has one writer at a time
	reader *sql.DB
}

// openFTS5 makes a database in a new file, for so many readers at once.
func openFTS5(ctx context.Context, path string, readers int) (*fts5, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	open := func(connections int) (*sql.DB, error) {
		db, err := sql.Open("sqlite", u.String()+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		return db, nil
	}
	writer, err := open(1)
	if err != nil {
		return nil, err
	}
	if _, err := writer.ExecContext(ctx, `CREATE VIRTUAL TABLE memories USING fts5(id UNINDEXED, content, tokenize = 'porter unicode61')`); err != nil {
		return nil, errors.Join(fmt.Errorf("make the table of FTS5: %w", err), writer.Close())
	}
	reader, err := open(readers)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return &fts5{writer: writer, reader: reader}, nil
}

// Name implements rival.
func (*fts5) Name() string { return "SQLite FTS5, durable" }

// Add implements rival.
func (f *fts5) Add(ctx context.Context, docs ...document) error {
	tx, err := f.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("add to FTS5: %w", err)
	}
	for _, d := range docs {
		if _, err := tx.ExecContext(ctx, `INSERT INTO memories (id, content) VALUES (?, ?)`, d.ID, d.Text); err != nil {
			return errors.Join(fmt.Errorf("add to FTS5: %w", err), tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("add to FTS5: %w", err)
	}
	return nil
}

// Search implements rival.
func (f *fts5) Search(ctx context.Context, q document, k int) ([]string, error) {
	rows, err := f.reader.QueryContext(ctx, `SELECT id, content FROM memories WHERE memories MATCH ? ORDER BY bm25(memories) LIMIT ?`, anyOf(q.Words), k)
	if err != nil {
		return nil, fmt.Errorf("search FTS5: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id, content string
		if err := rows.Scan(&id, &content); err != nil {
			return nil, fmt.Errorf("search FTS5: %w", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("search FTS5: %w", err)
	}
	return ids, nil
}

// anyOf writes words as a query for any of them.
func anyOf(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return strings.Join(quoted, " OR ")
}

// everyWord is the same index asked for small words too, as one does who knows of no
// list of them.
type everyWord struct{ *fts5 }

// Name implements rival.
func (everyWord) Name() string { return "SQLite FTS5, small words too" }

// Search implements rival.
func (e everyWord) Search(ctx context.Context, q document, k int) ([]string, error) {
	q.Words = text.Words(q.Text)
	return e.fts5.Search(ctx, q, k)
}

// Close implements rival.
func (f *fts5) Close() error { return errors.Join(f.reader.Close(), f.writer.Close()) }
