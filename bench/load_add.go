package main

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// bulkSize is how many turns one request of a bulk add holds.
const bulkSize = 500

// bulk fills the memory of one user.
func (l *load) bulk(ctx context.Context) error {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	l.said = talk.New(1).Sentences(l.o.Memories)
	var took []time.Duration
	var total time.Duration
	for done := 0; done < l.o.Memories; done += bulkSize {
		said := l.said[done:min(done+bulkSize, l.o.Memories)]
		started := time.Now()
		if err := l.keep(ctx, l.memory, fmt.Sprint("talk-", done/bulkSize), said); err != nil {
			return err
		}
		took = append(took, time.Since(started))
		total += took[len(took)-1]
	}
	row := rowOf(took)
	row.Subject, row.Name, row.Clients = "bulk", fmt.Sprintf("%d turns in requests of %d", l.o.Memories, min(bulkSize, l.o.Memories)), 1
	row.Rate, row.Note = float64(l.o.Memories)/total.Seconds(), "times of a request, turns a second; durable"
	if l.wants("bulk") {
		l.report(row)
	}
	return nil
}

// add measures facts written down one by one, each durable when it is answered.
func (l *load) add(ctx context.Context) error {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	talk := talk.New(3)
	for _, clients := range []int{1, l.o.Clients} {
		texts := talk.Sentences(l.o.Requests + warmUp)
		row, err := l.measureOne(ctx, task{subject: "add", name: "one fact, durable, nothing learned from it", clients: clients, do: timed(func(ctx context.Context, i int) error {
			_, _, err := l.memory.Add(ctx, client.AddMemory{Content: texts[i+warmUp]})
			return err
		})})
		if err != nil {
			return err
		}
		l.report(row)
	}
	return nil
}

// learn measures what a message costs until it has been learned from by the
// built-in rules: of a user who has said nothing before, and of one who has.
func (l *load) learn(ctx context.Context) error {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	talk := talk.New(6)
	told := func(user string) task {
		c := l.as(user)
		said := make([]string, l.o.Requests+warmUp)
		for i := range said {
			said[i] = fmt.Sprintf("I like %s %s. I have a dog called %s.", talk.Word(), talk.Word(), talk.Word())
		}
		return task{subject: "learn", name: "one message until it is learned, user with 0 turns", clients: 1, do: timed(func(ctx context.Context, i int) error {
			_, err := c.AddMessages(ctx, client.AddMessages{Messages: []client.Message{{Role: memory.RoleUser, Content: said[i+warmUp]}}, Conversation: fmt.Sprint("learn-", i/8), Wait: true})
			return err
		})}
	}
	empty, full := told("newcomer"), told("bench")
	full.name = fmt.Sprintf("one message until it is learned, user with %d turns", l.o.Memories)
	rows, err := l.measure(ctx, empty, full)
	if err != nil {
		return err
	}
	rows[0].Note = "by rule, no model; the caller waits and is told by polling"
	l.report(rows[0])
	l.report(rows[1].over(rows[0]))
	return nil
}
