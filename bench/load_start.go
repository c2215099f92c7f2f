package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci/bench/eval/talk"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/disk"
)

const (
	// starts is how often the server is started on an empty folder, and fullStarts
	// how often on one with memories.
	starts, fullStarts = 9, 3

	mib = 1 << 20

	// loadDims is how many dimensions the vectors of the default embedder have.
	loadDims = 384
)

// startEmpty measures how long the server takes until it answers, and what it
// needs with nothing to do. The last one goes on.
func (l *load) startEmpty(ctx context.Context) error {
	var took []time.Duration
	for i := range starts {
		data := filepath.Join(l.dir, fmt.Sprint("empty", i))
		if i == starts-1 {
			data = l.folder()
		}
		ready, err := l.start(ctx, data)
		if err != nil {
			return err
		}
		took = append(took, ready)
	}
	row := rowOf(took)
	row.Subject, row.Name, row.Note = "start", "from nothing to the first answer, empty folder", "the process and its database included"
	if l.wants("start") {
		l.report(row)
	}
	if l.wants("memory") {
		l.reportResident("idle, empty folder")
	}
	return nil
}

// startFull measures what the memories take on disk, and how long it takes from
// nothing until the server has answered with some of them. The server that goes on
// is not the one that was filled.
func (l *load) startFull(ctx context.Context) error {
	talk := talk.New(9)
	// Once asked, the server may keep more in its folder than memories, to start by.
	if _, err := l.ask(ctx, l.memory, talk.Question(l.said)); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	if l.wants("disk") {
		bytes, err := disk.Use(l.folder())
		if err != nil {
			return err
		}
		l.report(Row{
			Subject: "disk", Name: fmt.Sprintf("%d turns, server stopped", l.o.Memories), Value: float64(bytes) / float64(l.o.Memories), Unit: "bytes a memory",
			Note: files(l.folder()),
		})
	}
	if !l.wants("start") {
		return l.running(ctx, l.folder())
	}
	var took []time.Duration
	for range fullStarts {
		if _, err := l.start(ctx, l.folder()); err != nil {
			return err
		}
		for hits := 0; hits == 0; {
			var err error
			if hits, err = l.ask(ctx, l.memory, talk.Question(l.said)); err != nil {
				return err
			}
		}
		took = append(took, time.Since(l.serving.started))
	}
	row := rowOf(took)
	row.Subject, row.Name = "start", fmt.Sprintf("from nothing to the first recall, %d turns", l.o.Memories)
	row.Note = "files in the system's cache"
	l.report(row)
	return nil
}

// files names what a folder holds, and how large it is.
func files(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	s := ""
	for _, e := range entries {
		if bytes, err := disk.Use(filepath.Join(dir, e.Name())); err == nil && bytes >= mib/10 {
			s += fmt.Sprintf("%s %.1f MiB ", e.Name(), float64(bytes)/mib)
		}
	}
	return strings.TrimSpace(s)
}

func (l *load) reportResident(when string) {
	rss, peak, ok := resident(l.serving.cmd.Process.Pid)
	row := Row{Subject: "memory", Name: "resident, " + when, Note: "not measured on this system"}
	if ok {
		row.Value, row.Unit, row.Note = float64(rss)/mib, "MiB", fmt.Sprintf("at most %.1f MiB so far", float64(peak)/mib)
	}
	l.report(row)
}

// factsOnDisk measures what a fact takes that was written down by itself, journal
// and indexes included, beyond what an empty folder has.
func (l *load) factsOnDisk(ctx context.Context) error {
	data := filepath.Join(l.dir, "facts")
	if _, err := l.start(ctx, data); err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	empty, err := disk.Use(data)
	if err != nil {
		return err
	}
	if _, err := l.start(ctx, data); err != nil {
		return err
	}
	facts := min(2_000, l.o.Memories)
	talk := talk.New(5)
	texts := talk.Sentences(facts)
	add := task{subject: "disk", name: "add", clients: l.o.Clients, do: timed(func(ctx context.Context, i int) error {
		_, _, err := l.memory.Add(ctx, client.AddMemory{Content: texts[i]})
		return err
	})}
	if _, err := add.run(ctx, 0, facts, time.Hour); err != nil {
		return err
	}
	live, err := disk.Use(data)
	if err != nil {
		return err
	}
	if err := l.stop(); err != nil {
		return err
	}
	full, err := disk.Use(data)
	if err != nil {
		return err
	}
	l.report(Row{
		Subject: "disk", Name: fmt.Sprintf("%d facts, journal included, server stopped", facts), Value: float64(full-empty) / float64(facts), Unit: "bytes a memory",
		Note: fmt.Sprintf("besides %.1f MiB of an empty folder; %.1f MiB in all while it served", float64(empty)/mib, float64(live)/mib),
	})
	return nil
}
