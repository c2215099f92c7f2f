package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/internal/disk"
)

// popularity is the exponent of Zipf's law by which users are drawn.
const popularity = 1.1

// zipf measures recall for many users: of one whose index is not in memory, of the
// same one again, and of users drawn by Zipf's law. The index keeps as many as its
// budget allows, a setting of the program.
func (l *load) zipf(ctx context.Context) error {
	data := filepath.Join(l.dir, "many")
	if _, err := l.start(ctx, data); err != nil {
		return err
	}
	if err := l.fillMany(ctx); err != nil {
		return err
	}
	var bytes int64
	if !l.server {
		var err error
		if bytes, err = disk.Use(data); err != nil {
			return err
		}
	}
	// Of a server that was just started no user is in memory.
	if _, err := l.start(ctx, data); err != nil {
		return err
	}
	if err := l.firstAndAgain(ctx); err != nil {
		return err
	}
	for _, clients := range []int{1, l.o.Clients} {
		if err := l.popular(ctx, clients); err != nil {
			return err
		}
	}
	l.reportMany(bytes)
	return nil
}

// user names one of many.
func user(i int) string { return fmt.Sprint("user-", i) }

// saidBy returns what a user said, the same each time.
func (l *load) saidBy(i int) []string { return talk.New(uint64(1_000 + i)).Sentences(l.o.Each) }

func (l *load) fillMany(ctx context.Context) error {
	started := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.o.Clients)
	for i := range l.o.Owners {
		group.Go(func() error {
			said := l.saidBy(i)
			for done := 0; done < len(said); done += bulkSize {
				if err := l.keep(ctx, l.as(user(i)), fmt.Sprint("talk-", done), said[done:min(done+bulkSize, len(said))]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	l.report(Row{
		Subject: "zipf", Name: fmt.Sprintf("bulk add, %d users of %d turns", l.o.Owners, l.o.Each), Clients: l.o.Clients, Count: l.o.Owners,
		Rate: float64(l.o.Owners*l.o.Each) / time.Since(started).Seconds(), Note: "turns a second; durable",
	})
	return nil
}

// firstAndAgain asks users, each at most once before, and asks each at once again.
func (l *load) firstAndAgain(ctx context.Context) error {
	r := rand.New(rand.NewPCG(3, 3))
	var first, again []time.Duration
	began := time.Now()
	for n, i := range r.Perm(l.o.Owners) {
		if n >= l.o.Requests || (n > 0 && time.Since(began) > l.o.Duration) {
			break
		}
		talk, said := talk.New(uint64(n)), l.saidBy(i)
		for _, took := range []*[]time.Duration{&first, &again} {
			question := talk.Question(said)
			started := time.Now()
			if _, err := l.ask(ctx, l.as(user(i)), question); err != nil {
				return err
			}
			*took = append(*took, time.Since(started))
		}
	}
	rows := []Row{rowOf(again), rowOf(first)}
	for i, name := range []string{"recall, user in memory", "recall, user not in memory"} {
		rows[i].Subject, rows[i].Name, rows[i].Clients = "zipf", name, 1
	}
	rows[1].Note = "the first question after the start; files in the system's cache"
	l.report(rows[0])
	l.report(rows[1].over(rows[0]))
	return nil
}

// popular asks users drawn by Zipf's law.
func (l *load) popular(ctx context.Context, clients int) error {
	type one struct {
		user     string
		question string
	}
	r := rand.New(rand.NewPCG(4, uint64(clients)))
	draw := rand.NewZipf(r, popularity, 1, uint64(l.o.Owners-1))
	asked := make([]one, l.o.Requests+warmUp)
	for i := range asked {
		u := int(draw.Uint64())
		asked[i] = one{user(u), talk.New(uint64(i)).Question(l.saidBy(u))}
	}
	row, err := l.measureOne(ctx, task{subject: "zipf", name: "recall, users by Zipf's law", clients: clients, do: timed(func(ctx context.Context, i int) error {
		a := asked[i+warmUp]
		_, err := l.ask(ctx, l.as(a.user), a.question)
		return err
	})})
	if err != nil {
		return err
	}
	l.report(row)
	return nil
}

// reportMany reports what the server takes with many users.
func (l *load) reportMany(bytes int64) {
	turns := float64(l.o.Owners * l.o.Each)
	if !l.server {
		l.report(Row{Subject: "zipf", Name: "on disk while serving", Value: float64(bytes) / turns, Unit: "bytes a memory"})
	}
	if rss, peak, ok := resident(l.serving.cmd.Process.Pid); ok {
		l.report(Row{Subject: "zipf", Name: "resident", Value: float64(rss) / mib, Unit: "MiB", Note: fmt.Sprintf("at most %.1f MiB so far", float64(peak)/mib)})
	}
}
