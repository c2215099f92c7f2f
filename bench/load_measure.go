package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// task is one thing to measure.
type task struct {
	subject, name string
	clients       int           // at once
	spread        time.Duration // over which the clients begin; 0: all at the same moment

	// do makes one request of a client and returns how long it took. i counts the
	// requests of all clients; it is negative while warming up.
	do func(ctx context.Context, client, i int) (time.Duration, error)
}

// timed makes a request whose whole time counts.
func timed(do func(ctx context.Context, i int) error) func(context.Context, int, int) (time.Duration, error) {
	return func(ctx context.Context, _, i int) (time.Duration, error) {
		started := time.Now()
		err := do(ctx, i)
		return time.Since(started), err
	}
}

// rounds is how often tasks that are compared take turns.
const rounds = 4

// warmUp is the most requests before the first that counts.
const warmUp = 50

// measure makes the requests of each task and returns a row for each. The tasks
// take turns, and none goes on much longer than the longest time that was asked.
func (l *load) measure(ctx context.Context, tasks ...task) ([]Row, error) {
	took := make([][]time.Duration, len(tasks))
	busy := make([]time.Duration, len(tasks))
	turns := min(rounds, l.o.Requests)
	for turn := -1; turn < turns; turn++ {
		for i, t := range tasks {
			n, longest := share(l.o.Requests, turns, turn), l.o.Duration/time.Duration(turns)
			from := len(took[i])
			if turn < 0 {
				n, longest, from = min(warmUp, l.o.Requests), l.o.Duration/rounds, -warmUp
			}
			started := time.Now()
			one, err := t.run(ctx, from, n, longest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if turn >= 0 {
				took[i] = append(took[i], one...)
				busy[i] += time.Since(started)
			}
		}
	}
	rows := make([]Row, len(tasks))
	for i, t := range tasks {
		rows[i] = rowOf(took[i])
		rows[i].Subject, rows[i].Name, rows[i].Clients = t.subject, t.name, t.clients
		rows[i].Rate = float64(len(took[i])) / busy[i].Seconds()
	}
	return rows, nil
}

// measureOne is measure of a single task.
func (l *load) measureOne(ctx context.Context, t task) (Row, error) {
	rows, err := l.measure(ctx, t)
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}

// share returns how many of n fall to one of so many turns.
func share(n, turns, turn int) int { return n*(turn+1)/turns - n*turn/turns }

// run makes up to n requests, numbered from from on, and returns the time of each.
// Every client makes at least one while there are enough.
func (t task) run(ctx context.Context, from, n int, longest time.Duration) ([]time.Duration, error) {
	took := make([][]time.Duration, t.clients)
	errs := make([]error, t.clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	started := time.Now()
	for c := range t.clients {
		wg.Go(func() {
			time.Sleep(t.spread * time.Duration(c) / time.Duration(t.clients))
			for len(took[c]) == 0 || time.Since(started) < longest {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				one, err := t.do(ctx, c, from+i)
				if err != nil {
					errs[c] = err
					next.Store(int64(n)) // the others need not go on
					return
				}
				took[c] = append(took[c], one)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(took...), nil
}

// rowOf returns the exact percentiles of times; it sorts them.
func rowOf(took []time.Duration) Row {
	if len(took) == 0 {
		return Row{}
	}
	slices.Sort(took)
	return Row{
		Count: len(took), P50: percentile(took, 50), P95: percentile(took, 95), P99: percentile(took, 99),
		Max: took[len(took)-1],
	}
}

// percentile returns the least of sorted times that p of 100 do not exceed
// (nearest rank).
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}
