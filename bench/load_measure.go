package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/bench/report"
)

// task is one thing to measure.
type task struct {
	name   string
	spread time.Duration // time over which the clients begin; 0: all at once

	// do makes one request of a client and returns its time. i counts the requests of all clients, and is negative
	// while warming up.
	do func(ctx context.Context, client, i int) (time.Duration, error)
}

// timed returns a do that measures the whole request.
func timed(do func(ctx context.Context, i int) error) func(context.Context, int, int) (time.Duration, error) {
	return func(ctx context.Context, _, i int) (time.Duration, error) {
		began := time.Now()
		err := do(ctx, i)
		return time.Since(began), err
	}
}

// rounds is how often compared tasks alternate.
const rounds = 4

// warmUp is the maximum number of requests before the first that counts.
const warmUp = 50

// measure makes the requests of each task and prints a row for each.
func (l *load) measure(ctx context.Context, part string, clients int, tasks ...task) error {
	took, busy, err := l.inTurns(ctx, clients, tasks)
	for i, t := range tasks {
		if err == nil {
			err = l.out.Rows(latencies(part, t.name, clients, took[i], busy[i]))
		}
	}
	return err
}

// inTurns alternates between tasks, so that other load of the machine affects all equally. A task runs hardly longer
// than --duration. It returns the time of each request, and the total of each task.
func (l *load) inTurns(ctx context.Context, clients int, tasks []task) (
	took [][]time.Duration, busy []time.Duration, err error,
) {
	took, busy = make([][]time.Duration, len(tasks)), make([]time.Duration, len(tasks))
	turns := min(rounds, l.requests)
	for turn := -1; turn < turns; turn++ {
		for i, t := range tasks {
			n, from := l.requests*(turn+1)/turns-l.requests*turn/turns, len(took[i])
			if turn < 0 {
				n, from = min(warmUp, l.requests), -warmUp
			}
			began := time.Now()
			some, err := t.run(ctx, clients, from, n, l.duration/time.Duration(turns))
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if turn >= 0 {
				took[i] = append(took[i], some...)
				busy[i] += time.Since(began)
			}
		}
	}
	return took, busy, nil
}

// run makes up to n requests, numbered from from, and returns the time of each. Every client makes at least one if n
// suffices.
func (t task) run(ctx context.Context, clients, from, n int, longest time.Duration) ([]time.Duration, error) {
	took, errs := make([][]time.Duration, clients), make([]error, clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			time.Sleep(t.spread * time.Duration(c) / time.Duration(clients))
			for len(took[c]) == 0 || time.Since(began) < longest {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				one, err := t.do(ctx, c, from+i)
				if err != nil {
					errs[c] = err
					next.Store(int64(n)) // stops the other clients
					return
				}
				took[c] = append(took[c], one)
			}
		})
	}
	wg.Wait()
	return slices.Concat(took...), errors.Join(errs...)
}

// percentiles are the printed percentiles of times.
var percentiles = []int{50, 95, 99, 100}

// latencies returns a row with the exact percentiles (nearest rank) in milliseconds and, if all is not 0, the rate.
func latencies(part, name string, clients int, took []time.Duration, all time.Duration) report.Row {
	cells := []report.Cell{report.Number("clients", "%.0f", float64(clients))}
	row := report.Row{Part: part, Name: name, N: len(took), Cells: cells}
	slices.Sort(took)
	for _, p := range percentiles {
		at := took[max(0, (len(took)*p+99)/100-1)]
		row.Cells = append(row.Cells, report.Number(fmt.Sprintf("p%d ms", p), "%.3f", at.Seconds()*1000))
	}
	if all > 0 {
		row.Cells = append(row.Cells, report.Number("a second", "%.0f", float64(len(took))/all.Seconds()))
	}
	return row
}

// process is a running Loci server.
type process struct {
	url, data string
	started   time.Time
	pid       int
	stderr    bytes.Buffer
	end       func()
	ended     chan error
}

// startTime and stopTime bound the time until the program answers, and until it ends. Both are far above normal.
const (
	startTime = time.Minute
	stopTime  = 2 * time.Minute
)

// serve starts the program on a data folder, at a free port, without LOCI_ variables of the environment. The caller
// must stop it.
func (l *load) serve(ctx context.Context, data string) (*process, error) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := port.Addr().String()
	if err := port.Close(); err != nil {
		return nil, err
	}
	args := []string{"serve", "--addr", addr, "--data", data}
	own := []string{"log.level=error", "upstream.url=" + l.upstream.URL + "/v1"}
	for _, s := range append(own, l.serverSettings...) {
		args = append(args, "--set", s)
	}
	s := &process{url: "http://" + addr, data: data, ended: make(chan error, 1)}
	ctx, s.end = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, l.path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay, cmd.Stderr = stopTime, &s.stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCI_") })
	if l.store != "" {
		cmd.Env = append(cmd.Env, "LOCI_STORE="+l.store) // other users can read command lines
	}
	s.started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s.pid = cmd.Process.Pid
	go func() { s.ended <- cmd.Wait() }()
	for client := l.as(s.url, "bench"); time.Since(s.started) < startTime; time.Sleep(time.Millisecond) {
		if _, err := client.Health(ctx); err == nil {
			return s, nil
		}
		if len(s.ended) > 0 {
			break
		}
	}
	return nil, fmt.Errorf("start the server: %w", s.stop())
}

// stop asks the process to end and waits for it.
func (s *process) stop() error {
	s.end()
	if err := <-s.ended; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(s.stderr.String()))
	}
	return nil
}

// field returns the value of a line "name: value" in a file, "" if there is none.
func field(file, name string) string {
	data, _ := os.ReadFile(file) // the file exists only on Linux
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func processor() string { return field("/proc/cpuinfo", "model name") }

// resident returns the resident memory of a process in MiB and its peak, 0 if the system does not report them.
func resident(pid int) (rss, peak float64) {
	mib := func(name string) float64 {
		number, _, _ := strings.Cut(field(fmt.Sprintf("/proc/%d/status", pid), name), " ")
		kb, _ := strconv.ParseFloat(number, 64)
		return kb / 1024
	}
	return mib("VmRSS"), mib("VmHWM")
}
