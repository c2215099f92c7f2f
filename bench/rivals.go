package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// rival is another way to keep texts and find them again. It runs in this process:
// nothing of its time is HTTP or a model. It is safe for concurrent use.
type rival interface {
	// Name says what it is, and what it does not promise.
	Name() string

	// Add keeps documents, in one transaction where it has such.
	Add(ctx context.Context, docs ...document) error

	// Search returns the ids of the k best, best first.
	Search(ctx context.Context, q document, k int) ([]string, error)

	Close() error
}

// document is a text or a question, with its vector and the words that a search
// goes by.
type document struct {
	ID     string
	Text   string
	Vector []float32
	Words  []string
}

// documents embeds texts by Loci's own offline embedder, and takes small words
// away, as one who uses a word index with care would.
func documents(ctx context.Context, prefix string, texts []string) ([]document, error) {
	vectors, err := embed.Lexical{}.Embed(ctx, memory.AsDocument, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	out := make([]document, len(texts))
	for i, s := range texts {
		out[i] = document{ID: fmt.Sprint(prefix, i), Text: s, Vector: vectors[i]}
		text.EachWord(s, func(w string) {
			if text.Term(w) != "" {
				out[i].Words = append(out[i].Words, strings.Clone(w))
			}
		})
	}
	return out, nil
}

// rivals measures other ways beside Loci in turns: the same texts, the same
// questions, the same vectors, the same number of results.
func (l *load) rivals(ctx context.Context) (err error) {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	said, err := documents(ctx, "", l.said)
	if err != nil {
		return err
	}
	fts, err := openFTS5(ctx, filepath.Join(l.dir, "fts5.db"), l.o.Clients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fts.Close()) }()
	others := []rival{&naive{}, newChromem(), fts}
	for _, r := range others {
		started := time.Now()
		for done := 0; done < len(said); done += bulkSize {
			if err := r.Add(ctx, said[done:min(done+bulkSize, len(said))]...); err != nil {
				return fmt.Errorf("%s: %w", r.Name(), err)
			}
		}
		l.report(Row{Subject: "rivals", Name: "bulk add, " + r.Name(), Clients: 1, Count: len(said), Rate: float64(len(said)) / time.Since(started).Seconds(), Note: "a second"})
	}
	for _, clients := range []int{1, l.o.Clients} {
		if err := l.recallBeside(ctx, append(slices.Clip(others), everyWord{fts}), clients); err != nil {
			return err
		}
	}
	for _, clients := range []int{1, l.o.Clients} {
		if err := l.addBeside(ctx, others, clients); err != nil {
			return err
		}
	}
	return nil
}

// recallBeside asks Loci and others the same questions. The first of the others is
// what all are compared with.
func (l *load) recallBeside(ctx context.Context, others []rival, clients int) error {
	questions := talk.New(4).Questions(variety, l.said)
	asked, err := documents(ctx, "", questions)
	if err != nil {
		return err
	}
	loci := &asking{l: l, questions: questions}
	tasks := []task{loci.task("rivals", "recall, Loci, over HTTP", clients)}
	for _, r := range others {
		tasks = append(tasks, task{subject: "rivals", name: "recall, " + r.Name(), clients: clients, do: timed(func(ctx context.Context, i int) error {
			found, err := r.Search(ctx, asked[(i+warmUp)%len(asked)], topK)
			if err == nil && len(found) == 0 {
				err = errors.New("nothing was found")
			}
			return err
		})})
	}
	rows, err := l.measure(ctx, tasks...)
	if err != nil {
		return err
	}
	if rows[0].Note, err = loci.found(); err != nil {
		return err
	}
	for i, r := range rows {
		if i != 1 {
			r = r.over(rows[1])
		}
		l.report(r)
	}
	return nil
}

// addBeside adds one text after the other to Loci and to others.
func (l *load) addBeside(ctx context.Context, others []rival, clients int) error {
	texts := talk.New(uint64(20 + clients)).Sentences(l.o.Requests + warmUp)
	docs, err := documents(ctx, fmt.Sprint("add-", clients, "-"), texts)
	if err != nil {
		return err
	}
	tasks := []task{{subject: "rivals", name: "add one, Loci, durable, over HTTP", clients: clients, do: timed(func(ctx context.Context, i int) error {
		_, _, err := l.memory.Add(ctx, client.AddMemory{Content: texts[i+warmUp]})
		return err
	})}}
	for _, r := range others {
		tasks = append(tasks, task{subject: "rivals", name: "add one, " + r.Name(), clients: clients, do: timed(func(ctx context.Context, i int) error {
			return r.Add(ctx, docs[i+warmUp])
		})})
	}
	rows, err := l.measure(ctx, tasks...)
	if err != nil {
		return err
	}
	fts := rows[len(rows)-1] // the only other that is durable
	for i, r := range rows {
		if i != len(rows)-1 {
			r = r.over(fts)
		}
		l.report(r)
	}
	return nil
}
