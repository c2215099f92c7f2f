package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/portable"
	"github.com/loci-memory/loci/memory"
)

// imports is the kind of an import's runs; importReason the reason of its changes.
const (
	imports      = "import"
	importReason = "imported"
)

// ImportOptions is how an import is to be read.
type ImportOptions struct {
	Format      portable.Format // "": JSONL
	Project     string          // of what says none itself; others' formats alone
	DryRun      bool
	Strict      bool // end at the first problem; what stood before it stays
	Learn       bool // from turns that wait for it
	Idempotency string
}

// ImportReport says what an import did, or would do.
type ImportReport struct {
	Read       int // records
	Added      Tally
	There      Tally // was there already
	Duplicates int   // facts that another live one says already
	Waiting    int   // of the added facts: those that wait for a person
	Redacted   int   // records that had secrets blanked
	Conflicts  []ImportProblem
	Problems   []ImportProblem
	// Conflicting and Broken count all of them; the lists are bounded.
	Conflicting, Broken int
	Sample              []memory.Image // of what was added, the first few
	Runs                []string       // what undo takes; the first few
	Jobs                int            // of learning that were queued
}

// Tally counts by kind.
type Tally struct {
	Conversations, Turns, Facts, Summaries, Profile, Relations, Contexts int
}

// ImportProblem is a record that was not taken, or not as it is.
type ImportProblem struct {
	Line   int    // as [portable.Record.Line] has it
	Target string // as [portable.Record.Target] writes it; "" if it could not be read
	Reason string
}

// Bounds of an import.
const (
	batchLines  = exchange.IngestBatch
	batchBytes  = 4 << 20
	maxTroubles = 100
	maxSample   = 20
	maxRuns     = 100
)

// Import reads a file into an owner's memory, some hundreds of records at a time, each
// batch whole or not at all: what was written stays when it is cut off, and the same
// file again goes on from there, since what is there already is passed over.
//
// What has an id of Loci's own comes back as it was, with its times, status and
// source; where something else stands under that id, that is left as it is and named.
// Others' words become facts of source imported and turns. Secrets are blanked, but in
// what a person wrote or approved; a fact that a live one of its scope says already,
// word for word, is not added twice. Nothing is reconciled: an import supersedes
// nothing.
//
// A record that cannot be read is named by its line and left out, or, if b.Strict,
// ends the import with [memory.Invalid].
func (e *Transfer) Import(ctx context.Context, owner memory.Owner, b ImportOptions, author memory.Author, in io.Reader) (ImportReport, error) {
	ctx = memory.ForWrite(ctx)
	switch e.Paused(ctx, owner) {
	case core.PauseMemory:
		return ImportReport{}, memory.Errorf(memory.Conflict, "memory is paused; loci pause none, or PUT /api/pause, takes it off")
	case core.PauseLearning:
		b.Learn = false
	case core.PauseUnknown:
		return ImportReport{}, core.ErrPauseUnknown
	}
	i := &importer{ImportOptions: b, e: e, owner: owner, author: author, seen: map[hashIn]bool{}}
	err := portable.Reader{
		Owner: owner, Project: b.Project,
		ID:   func(parts ...string) string { return core.DerivedID(owner, parts...) },
		Take: func(r portable.Record) error { return i.take(ctx, r) },
		Bad:  i.bad,
	}.Read(b.Format, in)
	if err == nil || i.out.Broken > 0 && errors.Is(err, memory.Invalid) {
		if flushed := i.flush(ctx); err == nil {
			err = flushed
		}
	}
	if i.out.Jobs > 0 {
		e.Wake()
	}
	if err != nil {
		return i.out, fmt.Errorf("import: %w", err)
	}
	return i.out, nil
}

// importer gathers records into batches.
type importer struct {
	ImportOptions
	e      *Transfer
	owner  memory.Owner
	author memory.Author
	out    ImportReport

	batch   []portable.Record
	bytes   int
	flushes int
	talking *talk           // the conversation that was written last
	seen    map[hashIn]bool // of a dry run: live facts that it would have added
}

// hashIn is what live facts may not share.
type hashIn struct {
	scope memory.Scope
	hash  string
}

func (i *importer) bad(line int, err error) error {
	i.out.Broken++
	if len(i.out.Problems) < maxTroubles {
		i.out.Problems = append(i.out.Problems, ImportProblem{Line: line, Reason: err.Error()})
	}
	if i.Strict {
		return memory.Errorf(memory.Invalid, "%s %d: %w", i.Format.Unit(), line, err)
	}
	return nil
}

func (i *importer) conflict(r portable.Record, format string, args ...any) {
	i.out.Conflicting++
	if len(i.out.Conflicts) < maxTroubles {
		i.out.Conflicts = append(i.out.Conflicts, ImportProblem{Line: r.Line, Target: r.Target(), Reason: fmt.Sprintf(format, args...)})
	}
}

// take checks a record and keeps it for the next batch.
func (i *importer) take(ctx context.Context, r portable.Record) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	i.out.Read++
	if err := i.fit(&r); err != nil {
		return i.bad(r.Line, err)
	}
	i.batch = append(i.batch, r)
	if i.bytes += r.Size; len(i.batch) < batchLines && i.bytes < batchBytes {
		return nil
	}
	return i.flush(ctx)
}

// flush writes the batch.
func (i *importer) flush(ctx context.Context) error {
	batch := i.batch
	i.batch, i.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	i.flushes++
	there, err := i.there(ctx, batch)
	if err != nil {
		return err
	}
	if err := i.talks(ctx, batch, there); err != nil {
		return err
	}
	return i.things(ctx, batch, there)
}

// there returns what the owner has under the batch's ids.
func (i *importer) there(ctx context.Context, batch []portable.Record) (map[string]memory.Memory, error) {
	var ids []string
	for _, r := range batch {
		if r.Turn != nil || r.Fact != nil || r.Summary != nil {
			ids = append(ids, r.Memory().ID())
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := i.e.Store.Get(ctx, i.owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("look up what is there: %w", err)
	}
	there := make(map[string]memory.Memory, len(found))
	for _, m := range found {
		there[m.ID()] = m
	}
	return there, nil
}
