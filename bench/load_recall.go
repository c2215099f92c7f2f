package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/client"
)

const (
	// topK is how many memories each question asks for, of Loci and of others.
	topK = 10

	// variety is how many different questions there are.
	variety = 1_021
)

// recall measures searches through the whole pipeline, beside requests that ask
// nothing of memory, and what the server needs by then.
func (l *load) recall(ctx context.Context) error {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	questions := talk.New(2).Questions(variety, l.said)
	for _, clients := range []int{1, l.o.Clients} {
		health := task{subject: "recall", name: "health check, which asks nothing of memory", clients: clients, do: timed(func(ctx context.Context, _ int) error {
			_, err := l.memory.Health(ctx)
			return err
		})}
		asking := asking{l: l, questions: questions}
		rows, err := l.measure(ctx, health, asking.task("recall", fmt.Sprintf("top %d of %d turns", topK, l.o.Memories), clients))
		if err != nil {
			return err
		}
		if rows[1].Note, err = asking.found(); err != nil {
			return err
		}
		rows[1] = rows[1].over(rows[0])
		if l.wants("recall") {
			l.report(rows[0])
			l.report(rows[1])
		}
	}
	if l.wants("memory") {
		l.reportResident(fmt.Sprintf("after recall, %d turns", l.o.Memories))
	}
	return nil
}

// asking asks the same questions again and again, and counts what is found.
type asking struct {
	l         *load
	questions []string
	asked     atomic.Int64
	hits      atomic.Int64
}

func (a *asking) task(subject, name string, clients int) task {
	return task{subject: subject, name: name, clients: clients, do: timed(func(ctx context.Context, i int) error {
		hits, err := a.l.ask(ctx, a.l.memory, a.questions[(i+warmUp)%len(a.questions)])
		a.asked.Add(1)
		a.hits.Add(int64(hits))
		return err
	})}
}

// found says how many memories an answer held. None at all is an error: there was
// nothing to measure.
func (a *asking) found() (string, error) {
	if a.hits.Load() == 0 {
		return "", errors.New("no question found anything")
	}
	return fmt.Sprintf("%.1f hits an answer", float64(a.hits.Load())/float64(a.asked.Load())), nil
}

// ask puts a question to memory and returns how many memories came. An answer that
// had to leave something out is an error: it would not measure all of recall.
func (l *load) ask(ctx context.Context, c *client.Client, question string) (hits int, err error) {
	k := topK
	answer, err := c.Search(ctx, client.SearchRequest{Query: question, TopK: &k})
	if err != nil {
		return 0, fmt.Errorf("search: %w", err)
	}
	if len(answer.Degraded) > 0 {
		return 0, fmt.Errorf("search left out %s", strings.Join(answer.Degraded, "; "))
	}
	return len(answer.Hits), nil
}
