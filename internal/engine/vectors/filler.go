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

	owners recent.Map[memory.Owner, progress]
}

// Vectors is the progress of embedding an owner's memories.
type Vectors struct {
	Model    string // fingerprint of the embedder
	Memories int    // number of memories that have or need a vector
	Lacking  int    // number of these memories without a vector
	UnderWay bool   // a job that embeds them is running or queued
	Error    string // error of the job's last attempt; "": none
}

// ownerState is the cached state of an owner's vectors. It can be read again from the store.
type progress struct {
	queued bool    // a job was queued and has not started
	now    Vectors // progress of the running job

	space   string  // embedding space of the following counts
	upTo    int64   // all memories up to this version have a vector
	counted Vectors // counts at this version; zero: unknown
}

// embeddingSpace identifies the vectors that are comparable with the embedder's vectors.
func (e *Filler) space() string { return fmt.Sprint(e.Embedder.Fingerprint(), e.Embedder.Dims()) }

// updateState changes the cached state of an owner, and returns it.
func (e *Filler) update(owner memory.Owner, change func(*progress)) (is progress) {
	space := e.space()
	e.owners.Update(owner, func(was progress, _ bool) (progress, bool) {
		if is = was; is.space != space {
			is.space, is.upTo, is.counted = space, 0, Vectors{}
		}
		change(&is)
		return is, true
	})
	return is
}

// MarkQueued records that a job waits to start, and reports whether the caller must queue it.
func (e *Filler) Queue(owner memory.Owner) (first bool) {
	e.update(owner, func(p *progress) { first, p.queued = !p.queued, true })
	return first
}

// MarkStarted records that the waiting job has started.
func (e *Filler) Begin(owner memory.Owner) progress {
	return e.update(owner, func(p *progress) { p.queued = false })
}

// EmbedJob returns the job that embeds the memories that a run or batch writes. cause is its id.
func EmbedJob(owner memory.Owner, of string) memory.Job {
	return memory.Job{ID: "embed-" + of, Owner: owner, Kind: memory.JobEmbed}
}

// QueueMissing queues a job that embeds memories without vectors, unless a job waits. The index calls it.
func (e *Filler) Lacking(owner memory.Owner, memories int) {
	if is, _ := e.owners.Get(owner); is.queued {
		return
	}
	e.Log.Info("memories have no vector of this embedder yet; they are searched by words", "owner", owner, "memories", memories, "model", e.Embedder.Fingerprint())
	if err := e.queueVectors(context.Background(), owner, core.NewID()); err != nil {
		e.Log.Warn("the embedding job was not queued; the next search tries again", "owner", owner, "err", err)
	}
}

// CatchUp queues a job for each owner with memories, even if no vectors are missing.
func (e *Filler) CatchUp(ctx context.Context, owners ...memory.Owner) error {
	versions, err := e.Store.Versions(ctx, owners)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for i, owner := range owners {
		if versions[i] > 0 {
			if err := e.queueVectors(ctx, owner, core.NewID()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Filler) queueVectors(ctx context.Context, owner memory.Owner, id string) error {
	if !e.Queue(owner) {
		return nil
	}
	run := memory.Run{ID: id, Kind: "embed", Author: byEmbedder, Jobs: []memory.Job{EmbedJob(owner, id)}}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		e.Begin(owner)
		return fmt.Errorf("queue the embedding: %w", err)
	}
	e.Wake()
	return nil
}

var byEmbedder = memory.Author{Kind: memory.ByRule, Name: "embedder"}

// Progress returns the progress of embedding an owner's memories.
func (e *Filler) Vectors(ctx context.Context, owner memory.Owner) (Vectors, error) {
	if is, _ := e.owners.Get(owner); is.now.UnderWay {
		return is.now, nil
	}
	is, _, _, err := e.missingVectors(ctx, owner, 0)
	if err != nil {
		return is, err
	}
	waiting, err := e.Store.Jobs(ctx, owner)
	if err != nil {
		return is, fmt.Errorf("read jobs: %w", err)
	}
	for _, j := range waiting {
		if j.Kind == memory.JobEmbed && j.State != memory.JobParked {
			is.UnderWay = true
			if j.RunAt.After(e.Time()) { // otherwise the job runs at once
				is.Error = cmp.Or(is.Error, j.Error)
			}
		}
	}
	return is, nil
}

// Reembed queues the job that embeds an owner's memories without vectors, and returns their number. It
// does not remove vectors of other embedders. It queues nothing in a dry run, or if no vector is missing.
func (e *Filler) Reembed(ctx context.Context, owner memory.Owner, dry bool, key string) (Vectors, error) {
	is, err := e.Vectors(ctx, owner)
	if err != nil || dry || is.Lacking == 0 || is.UnderWay {
		return is, err
	}
	is.UnderWay = true
	return is, e.queueVectors(ctx, owner, core.IDFor(owner, key))
}

// TotalProgress is the progress of embedding all owners' memories. Recall of an owner uses the new vectors
// once nearly all exist.
type TotalProgress struct {
	Vectors      // sums over all owners; Error is the error of one owner
	Owners   int // number of owners with memories
	Complete int // number of owners without missing vectors
}

// ReembedAll calls [Filler.Reembed] for each owner. The stored jobs continue after a crash.
func (e *Filler) ReembedAll(ctx context.Context, dry bool, key string) (all TotalProgress, err error) {
	owners, err := e.Store.Owners(ctx)
	if err != nil {
		return all, fmt.Errorf("list owners: %w", err)
	}
	versions, err := e.Store.Versions(ctx, owners)
	if err != nil {
		return all, fmt.Errorf("read versions: %w", err)
	}
	all.Model = e.Embedder.Fingerprint()
	for i, owner := range owners {
		counts := e.update(owner, func(*progress) {})
		is := counts.counted
		if is.Memories == 0 || counts.upTo != versions[i] {
			if is, err = e.Reembed(ctx, owner, dry, key); err != nil {
				return all, fmt.Errorf("embed the memories of %s: %w", owner, err)
			}
			if is.Lacking == 0 && !is.UnderWay { // cache the counts for the next call
				e.update(owner, func(p *progress) {
					if p.space == counts.space {
						p.upTo, p.counted = versions[i], is
					}
				})
			}
		}
		if is.Memories == 0 {
			continue
		}
		all.Owners++
		if is.Lacking == 0 {
			all.Complete++
		}
		all.Memories += is.Memories
		all.Lacking += is.Lacking
		all.UnderWay = all.UnderWay || is.UnderWay
		all.Error = cmp.Or(all.Error, is.Error)
	}
	return all, nil
}

// EmbedBatch is the number of memories that a transaction embeds. A crash loses at most this work.
const EmbedAtOnce = 128

// EmbedderRetryDelay is the time for which a job waits for an unavailable embedder.
const EmbedderPause = time.Minute

// EmbedMissing handles embed jobs. It embeds memories without a vector of the current embedder. After a
// crash the next attempt continues.
func (e *Filler) EmbedMissing(ctx context.Context, job memory.Job) (jobs.End, error) {
	owner := job.Owner
	if m, ok := e.Embedder.(interface{ Measure(context.Context) error }); ok {
		if err := m.Measure(ctx); err != nil { // cosines are not scaled until a job can measure
			e.Log.Warn("the embedder was not measured", "err", err)
		}
	}
	began := e.Begin(owner)
	is, ids, upTo, err := e.missingVectors(ctx, owner, began.upTo)
	if err != nil {
		return "", err
	}
	defer e.update(owner, func(p *progress) { p.now = Vectors{} })
	is.UnderWay = true
	for batch := range slices.Chunk(ids, EmbedAtOnce) {
		e.update(owner, func(p *progress) { p.now = is })
		e.Idle.Wait(ctx)
		err := e.writeVectors(ctx, owner, batch)
		switch {
		case ctx.Err() != nil: // a shutdown is not a failure
			return "", &jobs.PutOff{Until: e.Time(), Why: "the server stopped; the job will continue"}
		case errors.Is(err, memory.Unavailable):
			return "", &jobs.PutOff{Until: e.Time().Add(retryDelay(err)), Why: err.Error()}
		case err != nil:
			return "", err
		}
		is.Lacking -= len(batch)
	}
	e.update(owner, func(p *progress) {
		if p.space == began.space {
			p.upTo, p.counted = upTo, Vectors{}
		}
	})
	if len(ids) > 0 {
		e.Log.Info("memories were embedded", "owner", owner, "memories", len(ids), "model", is.Model)
	}
	return jobs.Nothing, nil
}

// retryDelay returns the time for which an unavailable embedder is not called: [EmbedderRetryDelay] or, if
// longer, the time that its server requests, at most an hour.
func retryDelay(err error) time.Duration {
	var limit interface {
		RateLimited() (after time.Duration, ok bool)
	}
	if !errors.As(err, &limit) {
		return EmbedderPause
	}
	after, _ := limit.RateLimited()
	return max(EmbedderPause, min(after, time.Hour))
}

// missingVectors returns the counts and the ids of memories without a vector of the embedder, among the
// memories after version since, and the version at which they were counted.
func (e *Filler) missingVectors(ctx context.Context, owner memory.Owner, after int64) (is Vectors, ids []string, upTo int64, err error) {
	is.Model = e.Embedder.Fingerprint()
	dims := e.Embedder.Dims()
	upTo, err = e.Store.Since(ctx, owner, is.Model, after, func(item memory.Item) error {
		if item.Removed || !needsVector(item.Memory) {
			return nil
		}
		is.Memories++
		if n := len(item.Vector); n == 0 || dims != 0 && n != dims {
			is.Lacking++
			ids = append(ids, item.ID)
		}
		return nil
	})
	if errors.Is(err, memory.Gone) && after > 0 {
		return e.missingVectors(ctx, owner, 0)
	}
	if err != nil {
		return is, nil, 0, fmt.Errorf("find memories without vectors: %w", err)
	}
	return is, ids, upTo, nil
}

// needsVector reports whether a memory needs a vector: it is active and has text to search for.
func needsVector(m memory.Memory) bool {
	return m.Content() != "" && m.Status() == memory.Active && (m.Turn == nil || m.Turn.Tells())
}

// writeVectors embeds memories and writes the vectors of those that are unchanged.
func (e *Filler) writeVectors(ctx context.Context, owner memory.Owner, ids []string) error {
	texts, err := e.texts(ctx, owner, ids)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return texts[id] == "" })
	vectors, err := e.embedAll(ctx, ids, texts)
	if err != nil {
		return err
	}
	return core.Replan(ctx, func() error {
		version, err := e.Version(ctx, owner)
		if err != nil {
			return err
		}
		now, err := e.texts(ctx, owner, ids)
		if err != nil {
			return err
		}
		run := memory.Run{ID: core.NewID(), Kind: "embed", Author: byEmbedder, Base: version}
		for _, v := range vectors {
			if now[v.Memory] == texts[v.Memory] {
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

// texts returns the text to embed for each memory, by id.
func (e *Filler) texts(ctx context.Context, owner memory.Owner, ids []string) (map[string]string, error) {
	found, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the memories to embed: %w", err)
	}
	texts := map[string]string{}
	for _, m := range found {
		if needsVector(m) {
			texts[m.ID()] = m.Content()
		}
	}
	return texts, nil
}

// embedAll embeds texts. If the embedder rejects some texts, it omits them.
func (e *Filler) embedAll(ctx context.Context, ids []string, texts map[string]string) (out []memory.Vector, err error) {
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
			one, err := e.embedAll(ctx, ids[i:i+1], texts)
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
		}
		return out, nil
	case err != nil:
		return nil, fmt.Errorf("embed memories: %w", err)
	case e.Embedder.Fingerprint() != model:
		return nil, memory.Errorf(memory.Unavailable, "the embedder changed while it embedded memories")
	}
	return core.VectorsOf(ids, model, values), nil
}

// MissingVector returns the id of a batch's first turn that needs a vector and has none, or "".
func (e *Filler) MissingVector(b memory.Batch) string {
	if core.OfWords(e.Embedder) {
		return "" // vectors are stored with the turns
	}
	for _, t := range b.Turns {
		has := slices.ContainsFunc(b.Vectors, func(v memory.Vector) bool { return v.Memory == t.ID })
		if !has && needsVector(memory.Memory{Turn: &t}) {
			return t.ID
		}
	}
	return ""
}

// AddsEmbeddableText reports whether changes write text that needs a vector.
func AddsContent(changes []memory.Change) bool {
	return slices.ContainsFunc(changes, func(c memory.Change) bool {
		return c.After.Status() == memory.Active && (c.After.Fact != nil || c.After.Link != nil || c.After.Summary != nil || c.After.Turn != nil)
	})
}
