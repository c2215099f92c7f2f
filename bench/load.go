package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// Parts are what a load run can measure, in the order in which it does.
var Parts = []string{"start", "memory", "bulk", "disk", "recall", "rivals", "add", "learn", "proxy", "servers", "zipf"}

// LoadOptions say how much is measured. The zero value of a field means its
// default.
type LoadOptions struct {
	Program  Program
	Memories int           // turns of one user; 0: 10,000
	Requests int           // of each measure; 0: 1,000
	Clients  int           // at once, where several are meant; 0: 8
	Duration time.Duration // longest of one measure, whatever Requests says; 0: 10 s
	Owners   int           // of the part zipf; 0: 1,000
	Each     int           // turns of each of them; 0: 100
	Only     []string      // of [Parts]; nil: all
	Store    string        // address of an empty PostgreSQL database, measured beside SQLite; "": none
}

func (o LoadOptions) withDefaults() (LoadOptions, error) {
	for _, d := range []struct {
		name   string
		value  *int
		normal int
	}{
		{"memories", &o.Memories, 10_000}, {"requests", &o.Requests, 1_000}, {"clients", &o.Clients, 8},
		{"owners", &o.Owners, 1_000}, {"each", &o.Each, 100},
	} {
		if *d.value == 0 {
			*d.value = d.normal
		}
		if *d.value < 0 {
			return o, memory.Errorf(memory.Invalid, "%s: %d is out of range; valid is 1 and more", d.name, *d.value)
		}
	}
	if o.Duration == 0 {
		o.Duration = 10 * time.Second
	}
	if slices.Contains(o.Only, "servers") && o.Store == "" {
		return o, memory.Errorf(memory.Invalid, "only: servers are two on one PostgreSQL database; name one with store")
	}
	if len(o.Only) == 0 {
		o.Only = Parts
	}
	for _, part := range o.Only {
		if !slices.Contains(Parts, part) {
			return o, memory.Errorf(memory.Invalid, "only: %s is not a part; valid: %s", part, strings.Join(Parts, ", "))
		}
	}
	return o, nil
}

// onServers are the parts that are measured on a database server as well. What is on disk
// is not the program's own there.
var onServers = []string{"start", "memory", "bulk", "recall", "add", "learn", "proxy", "servers", "zipf"}

// Load measures the program as it is used: `serve` as a process of its own on a
// data folder of its own, asked over HTTP from this one. It calls report with each
// row as it is known.
//
// The load is a closed loop: a client asks again when it was answered, so that no
// time holds waiting for one's turn at the client, and a rate is what so many
// clients get done. What is compared is measured in turns, so that what else the
// machine does meanwhile falls on all alike.
func Load(ctx context.Context, o LoadOptions, report func(Row)) (err error) {
	o, err = o.withDefaults()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "loci-bench-")
	if err != nil {
		return err
	}
	l := &load{
		o: o, dir: dir, report: report, upstream: newUpstream(),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: max(o.Clients, proxyClients)}},
	}
	l.o.Program.Settings = append([]string{"log.level=error", "upstream.url=" + l.upstream.URL + "/v1"}, o.Program.Settings...)
	sides := []*load{l}
	if o.Store != "" {
		sides = append(sides, l.onServer())
	}
	l.o.Only = slices.DeleteFunc(slices.Clone(l.o.Only), func(part string) bool { return part == "servers" }) // a file is one server's
	defer func() {
		l.http.CloseIdleConnections()
		l.upstream.Close()
		for _, side := range sides {
			err = errors.Join(err, side.stop())
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	for _, step := range []struct {
		parts []string // any of which asks for it
		do    func(*load, context.Context) error
	}{
		{[]string{"start", "memory"}, (*load).startEmpty},
		{[]string{"start", "memory", "bulk", "disk", "recall", "rivals", "add", "learn", "proxy", "servers"}, (*load).bulk},
		{[]string{"start", "memory", "disk", "recall", "rivals", "add", "learn", "proxy", "servers"}, (*load).startFull},
		{[]string{"recall", "memory"}, (*load).recall},
		{[]string{"rivals"}, (*load).rivals},
		{[]string{"add"}, (*load).add},
		{[]string{"learn"}, (*load).learn},
		{[]string{"proxy"}, (*load).proxy},
		{[]string{"disk"}, (*load).factsOnDisk},
		{[]string{"servers"}, (*load).servers},
		{[]string{"zipf"}, (*load).zipf},
	} {
		for _, side := range sides {
			if !slices.ContainsFunc(step.parts, side.wants) {
				continue
			}
			if err := step.do(side, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// onServer returns a run of what can be measured on a database server, beside l: part by
// part it comes after l, and its rows are compared with l's.
func (l *load) onServer() *load {
	side := *l
	side.dir, side.server = filepath.Join(l.dir, "server"), true
	side.o.Only = slices.DeleteFunc(slices.Clone(l.o.Only), func(part string) bool { return !slices.Contains(onServers, part) })
	side.o.Program.Env = []string{"LOCI_STORE=" + l.o.Store} // others may read what a command line has
	floors := map[string]Row{}
	report := l.report
	key := func(r Row) string { return fmt.Sprint(r.Subject, r.Name, r.Clients) }
	l.report = func(r Row) {
		floors[key(r)] = r
		report(r)
	}
	side.report = func(r Row) {
		floor, known := floors[key(r)]
		r.Name += ", PostgreSQL"
		if known { // and not a database server's alone
			floor.Name = "SQLite"
			r = r.over(floor)
		}
		report(r)
	}
	return &side
}

// load is a run under way.
type load struct {
	o        LoadOptions
	dir      string // of everything that it keeps
	server   bool   // whether memory is on a database server
	report   func(Row)
	upstream *upstream
	http     *http.Client
	serving  *process       // nil: none
	memory   *client.Client // of user bench at serving
	said     []string       // by user bench
}

func (l *load) wants(part string) bool { return slices.Contains(l.o.Only, part) }

// folder is where the memory of one user is.
func (l *load) folder() string { return filepath.Join(l.dir, "one") }

// start runs the server on a data folder in place of the one that runs, and
// returns how long it took until it answered.
func (l *load) start(ctx context.Context, data string) (ready time.Duration, err error) {
	if err := l.stop(); err != nil {
		return 0, err
	}
	if l.serving, err = l.o.Program.serve(ctx, data); err != nil {
		return 0, err
	}
	l.memory = l.as("bench")
	if _, err := l.memory.Health(ctx); err != nil {
		return 0, fmt.Errorf("the server that was started: %w", err)
	}
	return time.Since(l.serving.started), nil
}

// running starts a server on a data folder, if none is running.
func (l *load) running(ctx context.Context, data string) error {
	if l.serving != nil {
		return nil
	}
	_, err := l.start(ctx, data)
	return err
}

func (l *load) stop() error {
	if l.serving == nil {
		return nil
	}
	err := l.serving.stop()
	l.serving = nil
	l.http.CloseIdleConnections()
	return err
}

// as returns a client of the running server for a user.
func (l *load) as(user string) *client.Client {
	return client.New(l.serving.url, client.Options{HTTP: l.http, User: user})
}

// keep adds turns to a conversation and has nothing learned from them.
func (l *load) keep(ctx context.Context, c *client.Client, conversation string, said []string) error {
	infer := false
	in := client.AddMessages{Infer: &infer, Conversation: conversation}
	for _, s := range said {
		in.Messages = append(in.Messages, client.Message{Role: memory.RoleUser, Content: s})
	}
	if _, err := c.AddMessages(ctx, in); err != nil {
		return fmt.Errorf("add %d turns: %w", len(said), err)
	}
	return nil
}
