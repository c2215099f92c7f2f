package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/client"
)

// servers measures two servers on one database: how soon one answers with what was
// written at the other, and what both get done beside what one alone does, for one user
// and for many.
func (l *load) servers(ctx context.Context) (err error) {
	if err := l.running(ctx, l.folder()); err != nil {
		return err
	}
	other, err := l.o.Program.serve(ctx, filepath.Join(l.dir, "other"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.stop()) }()
	p := &pair{load: l, urls: []string{l.serving.url, other.url}, talk: talk.New(10)}
	if err := p.seen(ctx); err != nil {
		return err
	}
	one, each := func(int) string { return "bench" }, func(c int) string { return fmt.Sprint("bench-", c) }
	for _, t := range []struct {
		name string
		user func(c int) string
		do   func() doing
	}{
		{"one fact, durable, all for one user", one, p.adds},
		{"one fact, durable, each client for a user", each, p.adds},
		{fmt.Sprintf("top %d of %d turns", topK, l.o.Memories), one, p.recalls},
	} {
		if err := p.oneAndTwo(ctx, t.name, t.user, t.do); err != nil {
			return err
		}
	}
	return nil
}

// doing makes the request i of a measure as a client.
type doing func(ctx context.Context, c *client.Client, i int) error

// pair is two servers on one database.
type pair struct {
	*load
	urls []string
	talk *talk.Talk
}

// at returns a client of a server for a user.
func (p *pair) at(server int, user string) *client.Client {
	return client.New(p.urls[server], client.Options{HTTP: p.http, User: user})
}

// adds says something else at each request.
func (p *pair) adds() doing {
	texts := p.talk.Sentences(p.o.Requests + warmUp)
	return func(ctx context.Context, c *client.Client, i int) error {
		_, _, err := c.Add(ctx, client.AddMemory{Content: texts[i+warmUp]})
		return err
	}
}

func (p *pair) recalls() doing {
	questions := p.talk.Questions(variety, p.said)
	return func(ctx context.Context, c *client.Client, i int) error {
		_, err := p.ask(ctx, c, questions[(i+warmUp)%len(questions)])
		return err
	}
}

// seen writes at one server and asks at the other until that answers with what was
// written. The servers change places each time.
func (p *pair) seen(ctx context.Context) error {
	var late atomic.Int64
	users := []*client.Client{p.at(0, "bench"), p.at(1, "bench")}
	row, err := p.measureOne(ctx, task{subject: "servers", name: "written at one server until the other answers with it", clients: 1, do: func(ctx context.Context, _, i int) (time.Duration, error) {
		writes, reads := users[(i+warmUp)%2], users[(i+warmUp+1)%2]
		word := nameOf(i + warmUp)
		if _, _, err := writes.Add(ctx, client.AddMemory{Content: "My boat is called " + word + "."}); err != nil {
			return 0, err
		}
		started := time.Now()
		for asked := 0; ; asked++ {
			found, err := finds(ctx, reads, word)
			if err != nil || found {
				return time.Since(started), err
			}
			if asked == 0 && i >= 0 {
				late.Add(1)
			}
			if time.Since(started) > p.o.Duration {
				return 0, fmt.Errorf("%q is not found at the other server", word)
			}
		}
	}})
	if err != nil {
		return err
	}
	row.Note = fmt.Sprintf("%d of the first questions did not find it", late.Load())
	p.report(row)
	return nil
}

// nameOf is a word that nothing else has, of letters alone.
func nameOf(i int) string {
	name := "qx"
	for range 4 {
		name += string(rune('a' + i%26))
		i /= 26
	}
	return name
}

func finds(ctx context.Context, c *client.Client, word string) (bool, error) {
	k := topK
	answer, err := c.Search(ctx, client.SearchRequest{Query: "What is called " + word + "?", TopK: &k})
	if err != nil {
		return false, fmt.Errorf("search: %w", err)
	}
	for _, hit := range answer.Hits {
		if strings.Contains(hit.Content, word) {
			return true, nil
		}
	}
	return false, nil
}

// oneAndTwo compares what clients get done at one server with what as many do at two, in
// turns.
func (p *pair) oneAndTwo(ctx context.Context, name string, user func(c int) string, of func() doing) error {
	through := func(servers int) task {
		var clients []*client.Client
		for c := range p.o.Clients {
			clients = append(clients, p.at(c%servers, user(c)))
		}
		do := of()
		return task{subject: "servers", name: name, clients: p.o.Clients, do: func(ctx context.Context, c, i int) (time.Duration, error) {
			started := time.Now()
			err := do(ctx, clients[c], i)
			return time.Since(started), err
		}}
	}
	rows, err := p.measure(ctx, through(1), through(2))
	if err != nil {
		return err
	}
	rows[0].Name += ", one server"
	rows[1].Name += ", two servers"
	p.report(rows[0])
	p.report(rows[1].over(rows[0]))
	return nil
}
