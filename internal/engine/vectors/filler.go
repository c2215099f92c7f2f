// Package vectors embeds memories that lack a vector of the current embedder, and removes vectors of
// earlier embedders.
package vectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Filler embeds memories that lack a vector of the current embedder.
type Filler struct {
	*core.Core

	owners recent.Map[memory.Owner, ownerState] // cached states
}

// EmbedProgress is the progress of embedding an owner's memories.
type EmbedProgress struct {
	Model    string // fingerprint of the embedder
	Memories int    // number of memories that have or need a vector
	Lacking  int    // number of these memories without a vector
	UnderWay bool   // a job that embeds them is running or queued
	Error    string // error of the job's last attempt; "": none
}

// ownerState is the cached state of an owner's vectors. It can be read again from the store.
type ownerState struct {
	queued  bool          // a job was queued and has not started
	running EmbedProgress // progress of the running job

	embeddingSpace  string        // embedding space of the following counts
	completeVersion int64         // all memories up to this version have a vector
	cachedProgress  EmbedProgress // counts at completeVersion; zero: unknown
}

// embeddingSpace identifies the vectors that are comparable with the embedder's vectors.
func (e *Filler) embeddingSpace() string {
	return fmt.Sprint(e.Embedder.Fingerprint(), e.Embedder.Dims())
}

// updateState changes the cached state of an owner, and returns it.
func (e *Filler) updateState(owner memory.Owner, change func(*ownerState)) (state ownerState) {
	space := e.embeddingSpace()
	e.owners.Update(owner, func(previous ownerState, _ bool) (ownerState, bool) {
		if state = previous; state.embeddingSpace != space {
			state.embeddingSpace, state.completeVersion, state.cachedProgress = space, 0, EmbedProgress{}
		}
		change(&state)
		return state, true
	})
	return state
}

// MarkQueued records that a job waits to start, and reports whether the caller must queue it.
func (e *Filler) MarkQueued(owner memory.Owner) (mustQueue bool) {
	e.updateState(owner, func(p *ownerState) { mustQueue, p.queued = !p.queued, true })
	return mustQueue
}

// MarkStarted records that the waiting job has started.
func (e *Filler) MarkStarted(owner memory.Owner) ownerState {
	return e.updateState(owner, func(p *ownerState) { p.queued = false })
}

// EmbedJob returns the job that embeds memories of a run or batch. causeID makes the job's id unique.
func EmbedJob(owner memory.Owner, causeID string) memory.Job {
	return memory.Job{ID: "embed-" + causeID, Owner: owner, Kind: memory.JobEmbed}
}

// QueueMissing queues a job that embeds memories without vectors, unless a job waits. The index calls it.
func (e *Filler) QueueMissing(owner memory.Owner, memories int) {
	if state, _ := e.owners.Get(owner); state.queued {
		return
	}
	e.Log.Info("memories have no vector of this embedder yet; they are searched by words", "owner", owner, "memories", memories, "model", e.Embedder.Fingerprint())
	if err := e.queueEmbedJob(context.Background(), owner, core.NewID()); err != nil {
		e.Log.Warn("the embedding job was not queued; the next search tries again", "owner", owner, "err", err)
	}
}

// QueueForOwners queues a job for each owner with memories, even if no vectors are missing.
func (e *Filler) QueueForOwners(ctx context.Context, owners ...memory.Owner) error {
	versions, err := e.Store.Versions(ctx, owners)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for i, owner := range owners {
		if versions[i] > 0 {
			if err := e.queueEmbedJob(ctx, owner, core.NewID()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Filler) queueEmbedJob(ctx context.Context, owner memory.Owner, runID string) error {
	if !e.MarkQueued(owner) {
		return nil
	}
	run := memory.Run{ID: runID, Kind: "embed", Author: byEmbedder, Jobs: []memory.Job{EmbedJob(owner, runID)}}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		e.MarkStarted(owner)
		return fmt.Errorf("queue the embedding job: %w", err)
	}
	e.WakeJobRunner()
	return nil
}

var byEmbedder = memory.Author{Kind: memory.ByRule, Name: "embedder"}

// Progress returns the progress of embedding an owner's memories.
func (e *Filler) Progress(ctx context.Context, owner memory.Owner) (EmbedProgress, error) {
	if result, _ := e.owners.Get(owner); result.running.UnderWay {
		return result.running, nil
	}
	result, _, _, err := e.missingVectors(ctx, owner, 0)
	if err != nil {
		return result, err
	}
	unfinished, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return result, fmt.Errorf("read jobs: %w", err)
	}
	for _, j := range unfinished {
		if j.Kind == memory.JobEmbed && j.State != memory.JobParked {
			result.UnderWay = true
			if j.RunAt.After(e.Time()) { // the job waits after a failed attempt; a job without a wait starts now
				result.Error = cmp.Or(result.Error, j.Error)
			}
		}
	}
	return result, nil
}

// Reembed queues the job that embeds an owner's memories without vectors, and returns their number. It
// does not remove vectors of other embedders. It queues nothing in a dry run, or if no vector is missing.
func (e *Filler) Reembed(ctx context.Context, owner memory.Owner, dryRun bool, key string) (EmbedProgress, error) {
	result, err := e.Progress(ctx, owner)
	if err != nil || dryRun || result.Lacking == 0 || result.UnderWay {
		return result, err
	}
	result.UnderWay = true
	return result, e.queueEmbedJob(ctx, owner, core.IDForKey(owner, key))
}

// TotalProgress is the progress of embedding all owners' memories. Recall of an owner uses the new vectors
// once nearly all exist.
type TotalProgress struct {
	EmbedProgress     // sums over all owners; Error is the error of one owner
	Owners        int // number of owners with memories
	Complete      int // number of owners without missing vectors
}

// ReembedAll calls [Filler.Reembed] for each owner. The stored jobs continue after a crash.
func (e *Filler) ReembedAll(ctx context.Context, dryRun bool, key string) (total TotalProgress, err error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return total, fmt.Errorf("list owners: %w", err)
	}
	versions, err := e.Store.Versions(ctx, owners)
	if err != nil {
		return total, fmt.Errorf("read versions: %w", err)
	}
	total.Model = e.Embedder.Fingerprint()
	for i, owner := range owners {
		state := e.updateState(owner, func(*ownerState) {})
		result := state.cachedProgress
		if result.Memories == 0 || state.completeVersion != versions[i] {
			if result, err = e.Reembed(ctx, owner, dryRun, key); err != nil {
				return total, fmt.Errorf("embed the memories of %s: %w", owner, err)
			}
			if result.Lacking == 0 && !result.UnderWay { // cache the counts for the next call
				e.updateState(owner, func(p *ownerState) {
					if p.embeddingSpace == state.embeddingSpace {
						p.completeVersion, p.cachedProgress = versions[i], result
					}
				})
			}
		}
		if result.Memories == 0 {
			continue
		}
		total.Owners++
		if result.Lacking == 0 {
			total.Complete++
		}
		total.Memories += result.Memories
		total.Lacking += result.Lacking
		total.UnderWay = total.UnderWay || result.UnderWay
		total.Error = cmp.Or(total.Error, result.Error)
	}
	return total, nil
}

// EmbedBatch is the number of memories that a transaction embeds. A crash loses at most this work.
const EmbedBatch = 128

// EmbedderRetryDelay is the time for which a job waits for an unavailable embedder.
const EmbedderRetryDelay = time.Minute

// EmbedMissing handles embed jobs. It embeds memories without a vector of the current embedder. After a
// crash the next attempt continues.
func (e *Filler) EmbedMissing(ctx context.Context, job memory.Job) (jobs.Completion, error) {
	owner := job.Owner
	if m, ok := e.Embedder.(interface{ Measure(context.Context) error }); ok {
		if err := m.Measure(ctx); err != nil { // without a measurement, cosines are not scaled
			e.Log.Warn("the similarity of unrelated texts was not measured for the embedder", "err", err)
		}
	}
	state := e.MarkStarted(owner)
	result, ids, version, err := e.missingVectors(ctx, owner, state.completeVersion)
	if err != nil {
		return "", err
	}
	defer e.updateState(owner, func(p *ownerState) { p.running = EmbedProgress{} })
	result.UnderWay = true
	for batch := range slices.Chunk(ids, EmbedBatch) {
		e.updateState(owner, func(p *ownerState) { p.running = result })
		e.Idle.Wait(ctx)
		err := e.writeVectors(ctx, owner, batch)
		switch {
		case ctx.Err() != nil: // a shutdown is not a failure
			return "", &jobs.PutOff{Until: e.Time(), Reason: "the server stopped; the job will continue"}
		case errors.Is(err, memory.Unavailable):
			return "", &jobs.PutOff{Until: e.Time().Add(retryDelay(err)), Reason: err.Error()}
		case err != nil:
			return "", err
		}
		result.Lacking -= len(batch)
	}
	e.updateState(owner, func(p *ownerState) {
		if p.embeddingSpace == state.embeddingSpace {
			p.completeVersion, p.cachedProgress = version, EmbedProgress{}
		}
	})
	if len(ids) > 0 {
		e.Log.Info("memories were embedded", "owner", owner, "memories", len(ids), "model", result.Model)
	}
	return jobs.Nothing, nil
}

// retryDelay returns the time for which an unavailable embedder is not called: [EmbedderRetryDelay] or, if
// longer, the time that its server requests, at most an hour.
func retryDelay(err error) time.Duration {
	var rateLimit interface {
		RateLimited() (requested time.Duration, ok bool)
	}
	if !errors.As(err, &rateLimit) {
		return EmbedderRetryDelay
	}
	requested, _ := rateLimit.RateLimited()
	return max(EmbedderRetryDelay, min(requested, time.Hour))
}

// missingVectors returns the counts and the ids of memories without a vector of the embedder, among the
// memories after sinceVersion, and the version at which they were counted.
func (e *Filler) missingVectors(ctx context.Context, owner memory.Owner, sinceVersion int64) (result EmbedProgress, ids []string, version int64, err error) {
	result.Model = e.Embedder.Fingerprint()
	dims := e.Embedder.Dims()
	version, err = e.Store.Since(ctx, owner, result.Model, sinceVersion, func(item memory.IndexItem) error {
		if item.Removed || !needsVector(item.Memory) {
			return nil
		}
		result.Memories++
		if n := len(item.Vector); n == 0 || dims != 0 && n != dims {
			result.Lacking++
			ids = append(ids, item.ID)
		}
		return nil
	})
	if errors.Is(err, memory.Gone) && sinceVersion > 0 {
		return e.missingVectors(ctx, owner, 0)
	}
	if err != nil {
		return result, nil, 0, fmt.Errorf("find memories without vectors: %w", err)
	}
	return result, ids, version, nil
}

// needsVector reports whether a memory needs a vector: it is active and has text to search for.
func needsVector(m memory.Memory) bool {
	return m.Content() != "" && m.Status() == memory.Active && (m.Turn == nil || m.Turn.Informative())
}

// writeVectors embeds memories and writes the vectors of those that are unchanged.
func (e *Filler) writeVectors(ctx context.Context, owner memory.Owner, ids []string) error {
	texts, err := e.textsToEmbed(ctx, owner, ids)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return texts[id] == "" })
	vectors, err := e.embedAll(ctx, ids, texts)
	if err != nil {
		return err
	}
	return core.RetryOnConflict(ctx, func() error {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return err
		}
		current, err := e.textsToEmbed(ctx, owner, ids)
		if err != nil {
			return err
		}
		run := memory.Run{ID: core.NewID(), Kind: "embed", Author: byEmbedder, Base: version}
		for _, v := range vectors {
			if current[v.Memory] == texts[v.Memory] {
				run.Vectors = append(run.Vectors, v)
			}
		}
		if len(run.Vectors) == 0 {
			return nil
		}
		if _, err := e.Store.Apply(ctx, owner, run); err != nil {
			return fmt.Errorf("write vectors: %w", err)
		}
		return nil
	})
}

// textsToEmbed returns the text to embed for each memory, by id.
func (e *Filler) textsToEmbed(ctx context.Context, owner memory.Owner, ids []string) (map[string]string, error) {
	memories, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the memories to embed: %w", err)
	}
	texts := map[string]string{}
	for _, m := range memories {
		if needsVector(m) {
			texts[m.ID()] = m.Content()
		}
	}
	return texts, nil
}

// embedAll embeds texts, except those that the embedder rejects.
func (e *Filler) embedAll(ctx context.Context, ids []string, texts map[string]string) (vectors []memory.Vector, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	model := e.Embedder.Fingerprint()
	inputs := make([]string, len(ids))
	for i, id := range ids {
		inputs[i] = texts[id]
	}
	values, err := e.Embedder.Embed(ctx, memory.AsDocument, inputs...)
	switch {
	case errors.Is(err, memory.Invalid) && len(ids) == 1:
		e.Log.Warn("the embedder rejects a memory; it is searched by words", "memory", ids[0], "err", err)
		return nil, nil
	case errors.Is(err, memory.Invalid):
		for i := range ids {
			single, err := e.embedAll(ctx, ids[i:i+1], texts)
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, single...)
		}
		return vectors, nil
	case err != nil:
		return nil, fmt.Errorf("embed memories: %w", err)
	case e.Embedder.Fingerprint() != model:
		return nil, memory.Errorf(memory.Unavailable, "the embedder changed while it embedded memories")
	}
	return core.VectorsOf(ids, model, values), nil
}

// FirstTurnWithoutVector returns the id of a batch's first turn that needs a vector and has none, or "".
func (e *Filler) FirstTurnWithoutVector(b memory.Batch) string {
	if core.IsLexical(e.Embedder) {
		return "" // vectors are stored with the turns
	}
	for _, t := range b.Turns {
		hasVector := slices.ContainsFunc(b.Vectors, func(v memory.Vector) bool { return v.Memory == t.ID })
		if !hasVector && needsVector(memory.Memory{Turn: &t}) {
			return t.ID
		}
	}
	return ""
}

// AddsEmbeddableText reports whether changes write text that needs a vector.
func AddsEmbeddableText(changes []memory.Change) bool {
	return slices.ContainsFunc(changes, func(c memory.Change) bool {
		return c.After.Status() == memory.Active && (c.After.Fact != nil || c.After.Link != nil || c.After.Summary != nil || c.After.Turn != nil)
	})
}
