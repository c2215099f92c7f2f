// Package vectors embeds memories that lack a vector of today's embedder, and removes those
// of models that are gone.
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

// Filler embeds memories that lack a vector of today's model.
type Filler struct {
	*core.Core

	known recent.Map[memory.Owner, progress]
}

// Vectors is how far an owner's memories have vectors of the embedder.
type Vectors struct {
	Model    string // the embedder's Fingerprint
	Memories int    // that have one or are to get one
	Lacking  int    // of those, how many have none
	UnderWay bool   // a job gives them, or is to
	Error    string // of that job, while it waits to be tried again
}

// progress is what this process knows of an owner's vectors. Forgetting it costs one look at
// all that the owner has.
type progress struct {
	queued bool    // a job was queued and has not begun
	now    Vectors // of a job under way

	space   string  // of the vectors that the rest is about
	upTo    int64   // everything written until this version has a vector
	counted Vectors // what there is at that version; zero: not known
}

// space names what the embedder's vectors may be compared with.
func (e *Filler) space() string { return fmt.Sprint(e.Embedder.Fingerprint(), e.Embedder.Dims()) }

// update changes what is known of an owner's vectors, and returns what is known then.
func (e *Filler) update(owner memory.Owner, change func(*progress)) (is progress) {
	space := e.space()
	e.known.Update(owner, func(was progress, _ bool) (progress, bool) {
		if is = was; is.space != space {
			is.space, is.upTo, is.counted = space, 0, Vectors{}
		}
		change(&is)
		return is, true
	})
	return is
}

// Queue reports whether a job is to be queued, because none waits to begin.
func (e *Filler) Queue(owner memory.Owner) (first bool) {
	e.update(owner, func(p *progress) { first, p.queued = !p.queued, true })
	return first
}

// Begin notes that no job waits to begin any more.
func (e *Filler) Begin(owner memory.Owner) progress {
	return e.update(owner, func(p *progress) { p.queued = false })
}

// EmbedJob is the job that gives vectors to what a run or batch writes.
func EmbedJob(owner memory.Owner, of string) memory.Job {
	return memory.Job{ID: "embed-" + of, Owner: owner, Kind: memory.JobEmbed}
}

// Lacking queues a job that gives an owner's memories the vectors that they lack,
// unless one waits already. It is what an index is told by.
func (e *Filler) Lacking(owner memory.Owner, memories int) {
	if is, _ := e.known.Get(owner); is.queued {
		return
	}
	e.Log.Info("memories have no vector of this embedder yet and are found by their words", "owner", owner, "memories", memories, "model", e.Embedder.Fingerprint())
	if err := e.queueVectors(context.Background(), owner, core.NewID()); err != nil {
		e.Log.Warn("the job that gives memories their vectors was not queued; the next search tries again", "owner", owner, "err", err)
	}
}

// CatchUp queues the job for owners who have anything, whether something lacks or not.
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

// Vectors says how far an owner's memories have vectors of the embedder.
func (e *Filler) Vectors(ctx context.Context, owner memory.Owner) (Vectors, error) {
	if is, _ := e.known.Get(owner); is.now.UnderWay {
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
			if j.RunAt.After(e.Time()) { // else it is tried again at once
				is.Error = cmp.Or(is.Error, j.Error)
			}
		}
	}
	return is, nil
}

// Reembed queues the job that gives an owner's memories the vectors that they lack,
// and returns how many those are. Vectors by other embedders stay. In a dry run, and
// where nothing lacks, nothing is queued.
func (e *Filler) Reembed(ctx context.Context, owner memory.Owner, dry bool, key string) (Vectors, error) {
	is, err := e.Vectors(ctx, owner)
	if err != nil || dry || is.Lacking == 0 || is.UnderWay {
		return is, err
	}
	is.UnderWay = true
	return is, e.queueVectors(ctx, owner, core.IDFor(owner, key))
}

// Everyone is how far the memories of all owners have vectors of the embedder. Each
// owner's recall begins to use them by itself, once nearly all of that owner's are there.
type Everyone struct {
	Vectors      // of all together; Error is one of theirs
	Owners   int // that have memories
	Complete int // of those, in whose memory nothing lacks
}

// ReembedAll does for each owner what [Filler.Reembed] does for one. The jobs are in
// the store: killed midway, each owner's goes on where it was.
func (e *Filler) ReembedAll(ctx context.Context, dry bool, key string) (all Everyone, err error) {
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
		known := e.update(owner, func(*progress) {})
		is := known.counted
		if is.Memories == 0 || known.upTo != versions[i] {
			if is, err = e.Reembed(ctx, owner, dry, key); err != nil {
				return all, fmt.Errorf("vectors of %s: %w", owner, err)
			}
			if is.Lacking == 0 && !is.UnderWay { // it is asked often how far all are
				e.update(owner, func(p *progress) {
					if p.space == known.space {
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

// EmbedAtOnce is how many memories get vectors in one transaction: what a kill costs.
const EmbedAtOnce = 128

// EmbedderRests is how long a job waits for an embedder that cannot be had.
const EmbedderRests = time.Minute

// EmbedMissing is the handler of embed jobs: what has no vector of the embedder gets
// one. Killed midway, the next attempt goes on where it was.
func (e *Filler) EmbedMissing(ctx context.Context, job memory.Job) (jobs.End, error) {
	owner := job.Owner
	if m, ok := e.Embedder.(interface{ Measure(context.Context) error }); ok {
		if err := m.Measure(ctx); err != nil { // cosines count as they come until a job can
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
		err := e.giveVectors(ctx, owner, batch)
		switch {
		case ctx.Err() != nil: // told to stop: that is not a failure
			return "", &jobs.PutOff{Until: e.Time(), Why: "it was stopped; it goes on where it was"}
		case errors.Is(err, memory.Unavailable):
			return "", &jobs.PutOff{Until: e.Time().Add(rest(err)), Why: err.Error()}
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
		e.Log.Info("memories have vectors", "owner", owner, "memories", len(ids), "model", is.Model)
	}
	return jobs.Nothing, nil
}

// rest is how long an embedder is left alone that could not be had: longer than
// [EmbedderRests] where its server asks for that, an hour at most.
func rest(err error) time.Duration {
	var limit interface {
		RateLimited() (after time.Duration, ok bool)
	}
	if !errors.As(err, &limit) {
		return EmbedderRests
	}
	after, _ := limit.RateLimited()
	return max(EmbedderRests, min(after, time.Hour))
}

// missingVectors returns the ids of memories written after a version that have no vector of
// the embedder, the count of what it saw, and the version that this is the state of.
func (e *Filler) missingVectors(ctx context.Context, owner memory.Owner, after int64) (is Vectors, ids []string, upTo int64, err error) {
	is.Model = e.Embedder.Fingerprint()
	dims := e.Embedder.Dims()
	upTo, err = e.Store.Since(ctx, owner, is.Model, after, func(item memory.Item) error {
		if item.Removed || !embeds(item.Memory) {
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
		return is, nil, 0, fmt.Errorf("look for memories without vectors: %w", err)
	}
	return is, ids, upTo, nil
}

// embeds reports whether a memory is to have a vector: there is something to find.
func embeds(m memory.Memory) bool {
	return m.Content() != "" && m.Status() == memory.Active && (m.Turn == nil || m.Turn.Tells())
}

// giveVectors embeds memories and writes the vectors of those that still say the same.
func (e *Filler) giveVectors(ctx context.Context, owner memory.Owner, ids []string) error {
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

// texts returns what is to be embedded of memories, by id.
func (e *Filler) texts(ctx context.Context, owner memory.Owner, ids []string) (map[string]string, error) {
	found, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return nil, fmt.Errorf("read what is to be embedded: %w", err)
	}
	texts := map[string]string{}
	for _, m := range found {
		if embeds(m) {
			texts[m.ID()] = m.Content()
		}
	}
	return texts, nil
}

// embedAll embeds texts; one by one if some are such as the embedder does not take,
// which are left out.
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
		e.Log.Warn("the embedder does not take a memory; it is found by its words", "memory", ids[0], "err", err)
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
		return nil, memory.Errorf(memory.Unavailable, "the embedder is another meanwhile")
	}
	return core.VectorsOf(ids, model, values), nil
}

// MissingVector returns the id of the first turn of a batch that is to have a vector and is
// written without one, "" if there is none.
func (e *Filler) MissingVector(b memory.Batch) string {
	if core.OfWords(e.Embedder) {
		return "" // they come with their turns
	}
	for _, t := range b.Turns {
		has := slices.ContainsFunc(b.Vectors, func(v memory.Vector) bool { return v.Memory == t.ID })
		if !has && embeds(memory.Memory{Turn: &t}) {
			return t.ID
		}
	}
	return ""
}

// AddsContent reports whether changes write something that is to have a vector.
func AddsContent(changes []memory.Change) bool {
	return slices.ContainsFunc(changes, func(c memory.Change) bool {
		return c.After.Status() == memory.Active && (c.After.Fact != nil || c.After.Link != nil || c.After.Summary != nil || c.After.Turn != nil)
	})
}
