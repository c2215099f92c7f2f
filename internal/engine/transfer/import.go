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

// importRunKind is the kind of import runs. importReason is the reason of their changes.
const (
	importRunKind = "import"
	importReason  = "imported"
)

// ImportOptions configure an import.
type ImportOptions struct {
	Format         portable.Format // empty: JSONL
	Project        string          // project of records without a project; only for other formats
	DryRun         bool
	Strict         bool   // stop at the first problem; earlier records remain imported
	Learn          bool   // learn from imported turns that were not learned from
	IdempotencyKey string // a repeated key writes nothing
}

// ImportReport is the result of an import or a dry run.
type ImportReport struct {
	Read       int // number of records in the file
	Added      Tally
	Existing   Tally // records that exist already
	Duplicates int   // number of facts with the text of an active or pending fact
	Waiting    int   // number of added facts that are pending
	Redacted   int   // number of records with redacted secrets
	Conflicts  []ImportProblem
	Problems   []ImportProblem
	// Conflicting and Broken count all conflicts and problems; the lists are bounded.
	Conflicting, Broken int
	Sample              []memory.State // the first added records
	Runs                []string       // ids of the first runs, for undo
	Jobs                int            // number of queued learning jobs
}

// Tally counts records by kind.
type Tally struct {
	Conversations, Turns, Facts, Summaries, Profile, Relations, Contexts int
}

// ImportProblem describes a record that was skipped or changed.
type ImportProblem struct {
	Line   int    // line or record number: see [portable.Record.Line]
	Target string // target of the record: see [portable.Record.Target]; "" if the record is unreadable
	Reason string
}

// Bounds of an import.
const (
	maxBatchRecords = exchange.MaxTurnsPerWrite
	maxBatchBytes   = 4 << 20
	maxProblems     = 100
	maxSample       = 20
	maxRuns         = 100
)

// Import reads a file into an owner's memory in batches of a few hundred records. Each batch is written
// completely or not at all. After an interruption, importing the same file again continues, since
// existing records are skipped.
//
// Records with Loci ids are restored with times, status and source. If a different record with the same id
// exists, the stored record remains and the conflict is reported. Records of other formats become turns, and
// facts with source imported. Secrets are redacted, except in text that a person wrote or approved. A fact is
// skipped if an active or pending fact in its scope has the same text. An import neither reconciles nor
// supersedes facts.
//
// An unreadable record is reported and skipped or, with opts.Strict, ends the import with
// [memory.Invalid].
func (e *Transfer) Import(ctx context.Context, owner memory.Owner, opts ImportOptions, author memory.Author, src io.Reader) (ImportReport, error) {
	ctx = memory.ForWrite(ctx)
	switch e.CurrentPause(ctx, owner) {
	case core.PauseMemory:
		return ImportReport{}, memory.Errorf(memory.Conflict, "memory is paused; resume it with loci pause none or PUT /api/pause")
	case core.PauseLearning:
		opts.Learn = false
	case core.PauseUnknown:
		return ImportReport{}, core.ErrPauseUnknown
	}
	i := &importer{ImportOptions: opts, transfer: e, owner: owner, author: author, dryRunFacts: map[scopedHash]bool{}}
	err := portable.Reader{
		Owner: owner, Project: opts.Project,
		DeriveID: func(parts ...string) string { return core.DerivedID(owner, parts...) },
		OnRecord: func(r portable.Record) error { return i.addRecord(ctx, r) },
		OnError:  i.reportProblem,
	}.Read(opts.Format, src)
	if err == nil || i.report.Broken > 0 && errors.Is(err, memory.Invalid) {
		if flushErr := i.flush(ctx); err == nil {
			err = flushErr
		}
	}
	if i.report.Jobs > 0 {
		e.WakeJobRunner()
	}
	if err != nil {
		return i.report, fmt.Errorf("import: %w", err)
	}
	return i.report, nil
}

// importer collects records in batches.
type importer struct {
	ImportOptions
	transfer *Transfer
	owner    memory.Owner
	author   memory.Author
	report   ImportReport

	batch            []portable.Record // records to write next
	batchBytes       int
	batchCount       int                 // number of batches so far
	lastConversation *targetConversation // the conversation written last
	dryRunFacts      map[scopedHash]bool // in a dry run: keys of the active and pending facts that would be added
}

// scopedHash is a fact's scope and text hash; only one active or pending fact may have the same key.
type scopedHash struct {
	scope memory.Scope
	hash  string
}

func (i *importer) reportProblem(line int, err error) error {
	i.report.Broken++
	if len(i.report.Problems) < maxProblems {
		i.report.Problems = append(i.report.Problems, ImportProblem{Line: line, Reason: err.Error()})
	}
	if i.Strict {
		return memory.Errorf(memory.Invalid, "%s %d: %w", i.Format.Unit(), line, err)
	}
	return nil
}

func (i *importer) reportConflict(r portable.Record, format string, args ...any) {
	i.report.Conflicting++
	if len(i.report.Conflicts) < maxProblems {
		i.report.Conflicts = append(i.report.Conflicts, ImportProblem{Line: r.Line, Target: r.Target(), Reason: fmt.Sprintf(format, args...)})
	}
}

// addRecord checks a record and adds it to the next batch.
func (i *importer) addRecord(ctx context.Context, r portable.Record) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	i.report.Read++
	if err := i.normalizeRecord(&r); err != nil {
		return i.reportProblem(r.Line, err)
	}
	i.batch = append(i.batch, r)
	if i.batchBytes += r.Size; len(i.batch) < maxBatchRecords && i.batchBytes < maxBatchBytes {
		return nil
	}
	return i.flush(ctx)
}

// flush writes the batch.
func (i *importer) flush(ctx context.Context) error {
	batch := i.batch
	i.batch, i.batchBytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	i.batchCount++
	existing, err := i.existingMemories(ctx, batch)
	if err != nil {
		return err
	}
	if err := i.appendConversations(ctx, batch, existing); err != nil {
		return err
	}
	return i.addOtherRecords(ctx, batch, existing)
}

// existingMemories returns, by id, the owner's memories with the ids of the batch.
func (i *importer) existingMemories(ctx context.Context, batch []portable.Record) (map[string]memory.Memory, error) {
	var ids []string
	for _, r := range batch {
		if r.Turn != nil || r.Fact != nil || r.Summary != nil {
			ids = append(ids, r.Memory().ID())
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	memories, err := i.transfer.Store.Get(ctx, i.owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("look up existing memories: %w", err)
	}
	existing := make(map[string]memory.Memory, len(memories))
	for _, m := range memories {
		existing[m.ID()] = m
	}
	return existing, nil
}
