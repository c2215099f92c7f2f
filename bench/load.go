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

// load is a run under way: serve as a process of its own on a data folder of its own, asked over HTTP
// from this one.
type load struct {
	run
	memories, requests, clients, owners, each int
	duration                                  time.Duration
	only, serverSettings                      []string
	path, store                               string // the program, and where its memory is

	dir      string // of everything that it keeps
	upstream *httptest.Server
	http     *http.Client
	serving  *process       // nil: none
	memory   *client.Client // of user bench at serving
	said     []string       // by user bench; nil: nothing yet
}

// parts are what a load run can measure, in the order in which it does.
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
	cmd := l.command("load", "Measure latency, throughput, start and size, beside others in the same run",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
			for _, part := range l.only {
				if !slices.Contains(names, part) {
					return memory.Errorf(memory.Invalid, "--only: %s is not a part; valid: %v", part, names)
				}
			}
			if min(l.memories, l.requests, l.clients, l.owners, l.each) < 1 {
				return memory.Errorf(memory.Invalid, "numbers are 1 and more")
			}
			return l.all(cmd.Context())
		})
	f := cmd.Flags()
	f.StringVar(&l.path, "loci", "loci", "the `program` to measure")
	f.StringArrayVar(&l.serverSettings, "set", nil, "a setting of the server, as key=value; may be repeated")
	f.IntVar(&l.memories, "memories", 10_000, "turns of one user")
	f.IntVar(&l.requests, "requests", 1_000, "requests of each measure")
	f.IntVar(&l.clients, "clients", 8, "clients at once, where several are meant")
	f.DurationVar(&l.duration, "duration", 10*time.Second, "longest of one measure, whatever --requests says")
	f.IntVar(&l.owners, "owners", 1_000, "users of the part zipf")
	f.IntVar(&l.each, "each", 100, "turns of each of them")
	f.StringVar(&l.store, "store", "", "`address` of an empty PostgreSQL database, in place of SQLite")
	f.StringSliceVar(&l.only, "only", names, "parts to measure")
	return cmd
}

// all measures the parts that are asked for.
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
		if part.name != "start" && part.name != "zipf" { // which begin with nothing
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

// start runs the server on a data folder in place of the one that runs, and returns how long it took
// until it answered.
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

// as returns a client of a server for a user.
func (l *load) as(url, user string) *client.Client {
	return client.New(url, client.Options{HTTP: l.http, User: user})
}

// folder is where the memory of user bench is.
const folder = "one"

// bulkSize is how many turns one request of a bulk add holds.
const bulkSize = 500

// filled has a server run with the turns of user bench.
func (l *load) filled(ctx context.Context) error {
	if l.serving == nil || l.serving.data != filepath.Join(l.dir, folder) {
		if _, err := l.start(ctx, folder); err != nil {
			return err
		}
	}
	if l.said != nil {
		return nil
	}
	l.said = talk.New(1).Sentences(l.memories)
	began := time.Now()
	took, err := l.keep(ctx, l.memory, l.said)
	if err != nil {
		return err
	}
	all, name := time.Since(began), fmt.Sprintf("%d turns in requests of %d, durable", l.memories, bulkSize)
	row := latencies("bulk", name, 1, took, all)
	row.Cells = append(row.Cells, report.Number("turns a second", "%.0f", float64(l.memories)/all.Seconds()))
	return l.out.Rows(row)
}

// keep adds turns and has nothing learned from them. It returns what each request took.
func (l *load) keep(ctx context.Context, c *client.Client, said []string) (took []time.Duration, err error) {
	infer := false
	for some := range slices.Chunk(said, bulkSize) {
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

// resident prints what the server holds in memory, where the system says that.
func (l *load) resident(part, when string) error {
	rss, peak := resident(l.serving.pid)
	return l.value(part, "resident, "+when, "MiB", rss, fmt.Sprintf("at most %.1f so far", peak))
}

// starts measures how long the server takes until it answers, and what it needs then: on an empty
// folder, and until it has recalled something of one with memories.
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
			if hits, err = l.ask(ctx, l.memory, talk.Question(l.said)); err != nil {
				return err
			}
		}
		recalled = append(recalled, time.Since(l.serving.started))
	}
	recalled = recalled[1:] // once asked, it may keep more in its folder, to start by
	return l.out.Rows(latencies("start", "from nothing to the first answer, empty folder", 1, first, 0),
		latencies("start", fmt.Sprintf("from nothing to the first recall, %d turns", l.memories), 1, recalled, 0))
}

// disk measures what turns take on disk, index included.
func (l *load) disk(ctx context.Context) error {
	if l.store != "" {
		return nil // what is on disk is the database's
	}
	if _, err := l.ask(ctx, l.memory, talk.New(9).Question(l.said)); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	bytes, err := disk.Use(filepath.Join(l.dir, folder))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d turns, server stopped", l.memories)
	return l.value("disk", name, "bytes a memory", float64(bytes)/float64(l.memories), "")
}

const (
	// topK is how many memories each question asks for.
	topK = 10
	// variety is how many different questions there are.
	variety = 1_021
)

// ask puts a question to memory and returns how many memories came. An answer that had to leave
// something out is an error: it would not measure all of recall.
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

// recall measures searches through the whole pipeline, beside requests that ask nothing of memory,
// and what the server needs by then.
func (l *load) recall(ctx context.Context) error {
	health := task{name: "health check, which asks nothing of memory", do: timed(func(ctx context.Context, _ int) error {
		_, err := l.memory.Health(ctx)
		return err
	})}
	questions := talk.New(2).Questions(variety, l.said)
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

// add measures facts written down one by one, each durable when it is answered.
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

// learn measures what a message costs until it has been learned from by the built-in rules: of a user
// who has said nothing before, and of one who has. The caller waits and is told by polling.
func (l *load) learn(ctx context.Context) error {
	talk := talk.New(6)
	tell := func(user string, turns int) task {
		c, name := l.as(l.serving.url, user), fmt.Sprintf("one message until it is learned, user with %d turns", turns)
		said := make([]string, l.requests+warmUp)
		for i := range said {
			said[i] = fmt.Sprintf("I like %s %s. I have a dog called %s.", talk.Word(), talk.Word(), talk.Word())
		}
		return task{name: name, do: timed(func(ctx context.Context, i int) error {
			messages := []client.Message{{Role: memory.RoleUser, Content: said[i+warmUp]}}
			in := client.AddMessages{Messages: messages, Conversation: fmt.Sprint("learn-", i/8), Wait: true}
			_, err := c.AddMessages(ctx, in)
			return err
		})}
	}
	return l.measure(ctx, "learn", 1, tell("newcomer", 0), tell("bench", l.memories))
}

// popularity is the exponent of Zipf's law by which users are drawn.
const popularity = 1.1

// zipf measures recall for many users: of one whose index is not in memory, of the same one again,
// and of users drawn by Zipf's law. The index keeps as many as its budget allows.
func (l *load) zipf(ctx context.Context) error {
	if _, err := l.start(ctx, "many"); err != nil {
		return err
	}
	user := func(i int) *client.Client { return l.as(l.serving.url, fmt.Sprint("user-", i)) }
	said := func(i int) []string { return talk.New(uint64(1_000 + i)).Sentences(l.each) }
	began, turns := time.Now(), float64(l.owners*l.each)
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(l.clients)
	for i := range l.owners {
		group.Go(func() error {
			_, err := l.keep(filling, user(i), said(i))
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
	if bytes, err := disk.Use(filepath.Join(l.dir, "many")); err != nil {
		return err
	} else if err := l.value("zipf", "on disk while serving", "bytes a memory", float64(bytes)/turns, ""); err != nil {
		return err
	}
	if _, err := l.start(ctx, "many"); err != nil { // whereupon no user is in memory
		return err
	}
	var first, again []time.Duration
	began = time.Now()
	for n, i := range rand.New(rand.NewPCG(3, 3)).Perm(l.owners) {
		if n >= l.requests || (n > 0 && time.Since(began) > l.duration) {
			break
		}
		talk, said := talk.New(uint64(n)), said(i)
		for _, took := range []*[]time.Duration{&first, &again} {
			began := time.Now()
			if _, err := l.ask(ctx, user(i), talk.Question(said)); err != nil {
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
			users, asked = append(users, user(u)), append(asked, talk.New(uint64(i)).Question(said(u)))
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
