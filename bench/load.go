package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/disk"
	"github.com/loci-memory/loci/memory"
)

// load is a run: a server process with its own data folder, and clients in this process.
type load struct {
	run
	memories, requests, clients, owners, each int
	duration                                  time.Duration
	only, serverSettings                      []string
	path, store                               string // the program, and the database address

	dir      string // parent of all its folders
	upstream *httptest.Server
	http     *http.Client
	serving  *process       // nil: none
	memory   *client.Client // client of user bench
	turns    []string       // of user bench; nil: none yet
}

// parts are the parts of a load run, in order.
var parts = []struct {
	name string
	do   func(*load, context.Context) error
}{
	{"start", (*load).starts}, {"disk", (*load).disk}, {"recall", (*load).recall},
	{"add", (*load).add}, {"learn", (*load).learn}, {"proxy", (*load).proxy}, {"zipf", (*load).zipf},
}

func loadCommand() *cobra.Command {
	l := &load{}
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	cmd := l.command("load", "Measure latency, throughput, start and size, with comparisons in the same run",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
			for _, part := range l.only {
				if !slices.Contains(names, part) {
					return memory.Errorf(memory.Invalid, "--only: invalid part %s; valid: %v", part, names)
				}
			}
			if min(l.memories, l.requests, l.clients, l.owners, l.each) < 1 {
				return memory.Errorf(memory.Invalid, "numbers must be at least 1")
			}
			return l.all(cmd.Context())
		})
	f := cmd.Flags()
	f.StringVar(&l.path, "loci", "loci", "the `program` to measure")
	f.StringArrayVar(&l.serverSettings, "set", nil, "a setting of the server, as key=value; may be repeated")
	f.IntVar(&l.memories, "memories", 10_000, "turns of user bench")
	f.IntVar(&l.requests, "requests", 1_000, "requests per measure")
	f.IntVar(&l.clients, "clients", 8, "concurrent clients, for measures with several")
	f.DurationVar(&l.duration, "duration", 10*time.Second, "maximum time of a measure, even if fewer than --requests were made")
	f.IntVar(&l.owners, "owners", 1_000, "users of the part zipf")
	f.IntVar(&l.each, "each", 100, "turns of each user of zipf")
	f.StringVar(&l.store, "store", "", "`address` of an empty PostgreSQL database, instead of SQLite")
	f.StringSliceVar(&l.only, "only", names, "parts to measure")
	return cmd
}

// all measures the selected parts.
func (l *load) all(ctx context.Context) (err error) {
	if l.dir, err = os.MkdirTemp("", "locibench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(l.dir)) }()
	l.upstream = newUpstream()
	l.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(l.clients, proxyClients)}}
	defer func() {
		l.http.CloseIdleConnections()
		l.upstream.Close()
		err = errors.Join(err, l.stop())
	}()
	l.out.Say("%s/%s, %s, GOMAXPROCS %d", runtime.GOOS, runtime.GOARCH, processor(), runtime.GOMAXPROCS(0))
	l.out.About("cpu", processor())
	l.out.About("memories", l.memories)
	for _, part := range parts {
		if !slices.Contains(l.only, part.name) {
			continue
		}
		if part.name != "start" && part.name != "zipf" { // both begin with an empty store
			err = l.filled(ctx)
		}
		if err == nil {
			err = part.do(l, ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// start replaces the running server by one on another data folder, and returns the time until it answered.
func (l *load) start(ctx context.Context, data string) (ready time.Duration, err error) {
	if err := l.stop(); err != nil {
		return 0, err
	}
	if l.serving, err = l.serve(ctx, filepath.Join(l.dir, data)); err != nil {
		return 0, err
	}
	ready = time.Since(l.serving.started)
	l.memory = l.as(l.serving.url, "bench")
	return ready, nil
}

func (l *load) stop() (err error) {
	if l.serving != nil {
		err = l.serving.stop()
		l.serving = nil
		l.http.CloseIdleConnections()
	}
	return err
}

// as returns a client for a user of a server.
func (l *load) as(url, user string) *client.Client {
	return client.New(url, client.Options{HTTP: l.http, User: user})
}

// folder is the data folder with the memory of user bench.
const folder = "one"

// bulkSize is the number of turns in a request of a bulk add.
const bulkSize = 500

// filled ensures that a server runs with the turns of user bench.
func (l *load) filled(ctx context.Context) error {
	if l.serving == nil || l.serving.data != filepath.Join(l.dir, folder) {
		if _, err := l.start(ctx, folder); err != nil {
			return err
		}
	}
	if l.turns != nil {
		return nil
	}
	l.turns = talk.New(1).Sentences(l.memories)
	began := time.Now()
	took, err := l.keep(ctx, l.memory, l.turns)
	if err != nil {
		return err
	}
	all, name := time.Since(began), fmt.Sprintf("%d turns in requests of %d, durable", l.memories, bulkSize)
	row := latencies("bulk", name, 1, took, all)
	row.Cells = append(row.Cells, report.Number("turns a second", "%.0f", float64(l.memories)/all.Seconds()))
	return l.out.Rows(row)
}

// keep adds turns without learning from them, and returns the time of each request.
func (l *load) keep(ctx context.Context, c *client.Client, turns []string) (took []time.Duration, err error) {
	infer := false
	for some := range slices.Chunk(turns, bulkSize) {
		in := client.AddMessages{Infer: &infer, Conversation: fmt.Sprint("talk-", len(took))}
		for _, s := range some {
			in.Messages = append(in.Messages, client.Message{Role: memory.RoleUser, Content: s})
		}
		began := time.Now()
		if _, err := c.AddMessages(ctx, in); err != nil {
			return nil, fmt.Errorf("add %d turns: %w", len(some), err)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// value prints a measure that is not a time.
func (l *load) value(part, name, unit string, x float64, note string) error {
	cells := []report.Cell{report.Number(unit, "%.1f", x)}
	return l.out.Rows(report.Row{Part: part, Name: name, Cells: cells, Note: note})
}

// resident prints the server's resident memory, if the system reports it.
func (l *load) resident(part, when string) error {
	rss, peak := resident(l.serving.pid)
	return l.value(part, "resident, "+when, "MiB", rss, fmt.Sprintf("at most %.1f so far", peak))
}

// starts measures the time and memory of a start until the first answer on an empty folder, and until the first recall
// on one with memories.
func (l *load) starts(ctx context.Context) error {
	const empty, full = 9, 3
	var first, recalled []time.Duration
	for i := range empty {
		ready, err := l.start(ctx, fmt.Sprint("empty", i))
		if err != nil {
			return err
		}
		first = append(first, ready)
	}
	if err := errors.Join(l.resident("start", "idle, empty folder"), l.filled(ctx)); err != nil {
		return err
	}
	talk := talk.New(9)
	for range full + 1 {
		if _, err := l.start(ctx, folder); err != nil {
			return err
		}
		for hits := 0; hits == 0; {
			var err error
			if hits, err = l.ask(ctx, l.memory, talk.Question(l.turns)); err != nil {
				return err
			}
		}
		recalled = append(recalled, time.Since(l.serving.started))
	}
	recalled = recalled[1:] // the first recall may have stored data that speeds up later starts
	return l.out.Rows(latencies("start", "from nothing to the first answer, empty folder", 1, first, 0),
		latencies("start", fmt.Sprintf("from nothing to the first recall, %d turns", l.memories), 1, recalled, 0))
}

// disk measures the disk space of turns, including the index.
func (l *load) disk(ctx context.Context) error {
	if l.store != "" {
		return nil // only the database server knows
	}
	if _, err := l.ask(ctx, l.memory, talk.New(9).Question(l.turns)); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	bytes, err := disk.Usage(filepath.Join(l.dir, folder))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d turns, server stopped", l.memories)
	return l.value("disk", name, "bytes a memory", float64(bytes)/float64(l.memories), "")
}

const (
	// topK is the number of memories per question.
	topK = 10
	// variety is the number of different questions.
	variety = 1_021
)

// ask searches memory and returns the number of hits. A degraded answer is an error, since it does not measure the
// whole pipeline.
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

// recall measures searches through the whole pipeline, compared with health checks, and the server's memory.
func (l *load) recall(ctx context.Context) error {
	health := task{name: "health check, which asks nothing of memory", do: timed(func(ctx context.Context, _ int) error {
		_, err := l.memory.Health(ctx)
		return err
	})}
	questions := talk.New(2).Questions(variety, l.turns)
	name := fmt.Sprintf("top %d of %d turns", topK, l.memories)
	asking := task{name: name, do: timed(func(ctx context.Context, i int) error {
		_, err := l.ask(ctx, l.memory, questions[(i+warmUp)%len(questions)])
		return err
	})}
	for _, clients := range []int{1, l.clients} {
		if err := l.measure(ctx, "recall", clients, health, asking); err != nil {
			return err
		}
	}
	return l.resident("recall", fmt.Sprintf("%d turns", l.memories))
}

// add measures adding facts one by one, each durable when it is answered.
func (l *load) add(ctx context.Context) error {
	for seed, clients := range []int{1, l.clients} {
		texts := talk.New(uint64(30 + seed)).Sentences(l.requests + warmUp)
		add := task{name: "one fact, durable, nothing learned from it", do: timed(func(ctx context.Context, i int) error {
			_, _, err := l.memory.Add(ctx, client.AddMemory{Content: texts[i+warmUp]})
			return err
		})}
		if err := l.measure(ctx, "add", clients, add); err != nil {
			return err
		}
	}
	return nil
}

// learn measures the time until the built-in rules have learned from a message, for a new user and one with turns.
// The client polls.
func (l *load) learn(ctx context.Context) error {
	talk := talk.New(6)
	tell := func(user string, turns int) task {
		c, name := l.as(l.serving.url, user), fmt.Sprintf("one message until it is learned, user with %d turns", turns)
		messages := make([]string, l.requests+warmUp)
		for i := range messages {
			messages[i] = fmt.Sprintf("I like %s %s. I have a dog called %s.", talk.Word(), talk.Word(), talk.Word())
		}
		return task{name: name, do: timed(func(ctx context.Context, i int) error {
			body := []client.Message{{Role: memory.RoleUser, Content: messages[i+warmUp]}}
			in := client.AddMessages{Messages: body, Conversation: fmt.Sprint("learn-", i/8), Wait: true}
			_, err := c.AddMessages(ctx, in)
			return err
		})}
	}
	return l.measure(ctx, "learn", 1, tell("newcomer", 0), tell("bench", l.memories))
}

// popularity is the exponent of Zipf's law for drawing users.
const popularity = 1.1

// zipf measures recall for many users: for one without an index in memory, for the same one again, and for users
// drawn by Zipf's law. The index budget limits the users in memory.
func (l *load) zipf(ctx context.Context) error {
	if _, err := l.start(ctx, "many"); err != nil {
		return err
	}
	user := func(i int) *client.Client { return l.as(l.serving.url, fmt.Sprint("user-", i)) }
	turnsOf := func(i int) []string { return talk.New(uint64(1_000 + i)).Sentences(l.each) }
	began, turns := time.Now(), float64(l.owners*l.each)
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(l.clients)
	for i := range l.owners {
		group.Go(func() error {
			_, err := l.keep(filling, user(i), turnsOf(i))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	name := fmt.Sprintf("bulk add, %d users of %d turns", l.owners, l.each)
	if err := l.value("zipf", name, "turns a second", turns/time.Since(began).Seconds(), ""); err != nil {
		return err
	}
	if bytes, err := disk.Usage(filepath.Join(l.dir, "many")); err != nil {
		return err
	} else if err := l.value("zipf", "on disk while serving", "bytes a memory", float64(bytes)/turns, ""); err != nil {
		return err
	}
	if _, err := l.start(ctx, "many"); err != nil { // after a start no user is in memory
		return err
	}
	var first, again []time.Duration
	began = time.Now()
	for n, i := range rand.New(rand.NewPCG(3, 3)).Perm(l.owners) {
		if n >= l.requests || (n > 0 && time.Since(began) > l.duration) {
			break
		}
		talk, turns := talk.New(uint64(n)), turnsOf(i)
		for _, took := range []*[]time.Duration{&first, &again} {
			began := time.Now()
			if _, err := l.ask(ctx, user(i), talk.Question(turns)); err != nil {
				return err
			}
			*took = append(*took, time.Since(began))
		}
	}
	err := l.out.Rows(latencies("zipf", "recall, user in memory", 1, again, 0),
		latencies("zipf", "recall, user not in memory", 1, first, 0))
	if err != nil {
		return err
	}
	for _, clients := range []int{1, l.clients} {
		draw := rand.NewZipf(rand.New(rand.NewPCG(4, uint64(clients))), popularity, 1, uint64(l.owners-1))
		var users []*client.Client
		var asked []string
		for i := range l.requests + warmUp {
			u := int(draw.Uint64())
			users, asked = append(users, user(u)), append(asked, talk.New(uint64(i)).Question(turnsOf(u)))
		}
		drawn := task{name: "recall, users by Zipf's law", do: timed(func(ctx context.Context, i int) error {
			_, err := l.ask(ctx, users[i+warmUp], asked[i+warmUp])
			return err
		})}
		if err := l.measure(ctx, "zipf", clients, drawn); err != nil {
			return err
		}
	}
	return l.resident("zipf", fmt.Sprintf("%d users", l.owners))
}
