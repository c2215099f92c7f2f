// Package vectors embeds memories that lack a vector of today's embedder, and removes those
// of models that are gone.
package vectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/memory"
)

// Filler embeds memories that lack a vector of today's model.
type Filler struct {
	*core.Core

	Giving Progress
}

// Earlier is what is known of the embedders that memory had before the one in use.
type Earlier interface {
	// Models returns the fingerprints of other embedders by which there may be vectors.
	Models(ctx context.Context) ([]string, error)

	// Back notes that the embedder before this one is to be used again, from the next
	// start on. Noted twice, it is the same. [memory.NotFound]: there was none;
	// [memory.Invalid]: it cannot be had any more.
	Back(ctx context.Context) (Return, error)
}

// Return is the way back to an earlier embedder.
type Return struct {
	From, To string // settings, as embedder has them
	Model    string // the fingerprint of the one gone back to
}

// SetEmbedderHistory tells the engine of the embedders that there were. It is called before anything
// else.
func (e *Filler) SetEmbedderHistory(of Earlier) { e.Giving.earlier = of }

// Back goes back to the embedder before the one in use, from the next start on, and
// says how far the owner's memories still have its vectors: what lacks one gets one in
// the background then.
func (e *Filler) Back(ctx context.Context, owner memory.Owner) (Return, Vectors, error) {
	if e.Giving.earlier == nil {
		return Return{}, Vectors{}, memory.Errorf(memory.NotFound, "nothing is known of an earlier embedder")
	}
	to, err := e.Giving.earlier.Back(ctx)
	if err != nil {
		return to, Vectors{}, err
	}
	is, _, _, err := e.lackingOf(ctx, to.Model, owner, 0)
	return to, is, err
}

// EarlierModels returns the fingerprints of embedders not in use by which there may be
// vectors.
func (e *Filler) EarlierModels(ctx context.Context) ([]string, error) {
	if e.Giving.earlier == nil {
		return nil, nil
	}
	return e.Giving.earlier.Models(ctx)
}

// Vectors is how far an owner's memories have vectors of the embedder.
type Vectors struct {
	Model    string // the embedder's Fingerprint
	Memories int    // that have one or are to get one
	Lacking  int    // of those, how many have none
	UnderWay bool   // a job gives them, or is to
	Error    string // of that job, while it waits to be tried again
}

// Progress is what is known of giving vectors. The zero vectoring knows nothing.
type Progress struct {
	mu     sync.Mutex               // guards what follows
	space  string                   // of the vectors that were given
	queued map[memory.Owner]bool    // a job was queued and has not begun
	now    map[memory.Owner]Vectors // jobs under way

	upTo    recent.Map[memory.Owner, int64] // all written until then has a vector; without it a job looks at everything
	counted recent.Map[memory.Owner, complete]

	earlier Earlier // set at the start; nil: nothing is known
}

// begin forgets how far others were, where the embedder is another or gives vectors of another length.
func (v *Progress) begin(in memory.Embedder) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if space := fmt.Sprint(in.Fingerprint(), in.Dims()); v.space != space {
		v.space = space
		v.upTo.DeleteFunc(func(memory.Owner, int64) bool { return true })
		v.counted.DeleteFunc(func(memory.Owner, complete) bool { return true })
	}
}

// Queue reports whether a job is to be queued: none was that has not begun.
func (v *Progress) Queue(owner memory.Owner) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.queued[owner] {
		return false
	}
	if v.queued == nil {
		v.queued = map[memory.Owner]bool{}
	}
	v.queued[owner] = true
	return true
}

// waits reports whether a job was queued and has not begun.
func (v *Progress) waits(owner memory.Owner) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.queued[owner]
}

// Begin says that a job has begun, and returns from where on it has to look.
func (v *Progress) Begin(owner memory.Owner) (after int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.queued, owner)
	after, _ = v.upTo.Get(owner)
	return after
}

// goesOn says how far a job is.
func (v *Progress) goesOn(owner memory.Owner, is Vectors) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now == nil {
		v.now = map[memory.Owner]Vectors{}
	}
	v.now[owner] = is
}

// end says that a job has ended, and until which version everything has a vector; 0 if
// it did not get there.
func (v *Progress) end(owner memory.Owner, upTo int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.now, owner)
	if upTo != 0 {
		v.upTo.Set(owner, upTo)
	}
}

func (v *Progress) underWay(owner memory.Owner) (Vectors, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	is, ok := v.now[owner]
	return is, ok
}

// EmbedJob is the job that gives vectors to what a run or batch writes.
func EmbedJob(owner memory.Owner, of string) memory.Job {
	return memory.Job{ID: "embed-" + of, Owner: owner, Kind: memory.JobEmbed}
}

// Lacking queues a job that gives an owner's memories the vectors that they lack,
// unless one waits already. It is what an index is told by.
func (e *Filler) Lacking(owner memory.Owner, memories int) {
	if e.Giving.waits(owner) {
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
	if !e.Giving.Queue(owner) {
		return nil
	}
	run := memory.Run{ID: id, Kind: "embed", Author: byEmbedder, Jobs: []memory.Job{EmbedJob(owner, id)}}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		e.Giving.Begin(owner)
		return fmt.Errorf("queue the embedding: %w", err)
	}
	e.Wake()
	return nil
}

var byEmbedder = memory.Author{Kind: memory.ByRule, Name: "embedder"}

// Vectors says how far an owner's memories have vectors of the embedder.
func (e *Filler) Vectors(ctx context.Context, owner memory.Owner) (Vectors, error) {
	if is, ok := e.Giving.underWay(owner); ok {
		return is, nil
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
// and returns how many those are. Vectors by other embedders stay, so that going back
// to one costs little. In a dry run, and where nothing lacks, nothing is queued.
func (e *Filler) Reembed(ctx context.Context, owner memory.Owner, dry bool, key string) (Vectors, error) {
	is, err := e.Vectors(ctx, owner)
	if err != nil || dry || is.Lacking == 0 || is.UnderWay {
		return is, err
	}
	is.UnderWay = true
	return is, e.queueVectors(ctx, owner, core.IDFor(owner, key))
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
	e.Giving.begin(e.Embedder)
	is, ids, upTo, err := e.missingVectors(ctx, owner, e.Giving.Begin(owner))
	if err != nil {
		return "", err
	}
	done := int64(0)
	defer func() { e.Giving.end(owner, done) }()
	is.UnderWay = true
	for batch := range slices.Chunk(ids, EmbedAtOnce) {
		e.Giving.goesOn(owner, is)
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
	done = upTo
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
	return e.lackingOf(ctx, e.Embedder.Fingerprint(), owner, after)
}

// lackingOf is lacking for the named model.
func (e *Filler) lackingOf(ctx context.Context, model string, owner memory.Owner, after int64) (is Vectors, ids []string, upTo int64, err error) {
	is = Vectors{Model: model}
	dims := 0 // of another model there may be any
	if model == e.Embedder.Fingerprint() {
		dims = e.Embedder.Dims()
	}
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
		return e.lackingOf(ctx, model, owner, 0)
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
	texts := map[string]string{}
	found, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return fmt.Errorf("read what is to be embedded: %w", err)
	}
	var order []string
	for _, m := range found {
		if embeds(m) {
			order, texts[m.ID()] = append(order, m.ID()), m.Content()
		}
	}
	vectors, err := e.embedAll(ctx, order, texts)
	if err != nil {
		return err
	}
	for len(vectors) > 0 {
		err := e.writeVectors(ctx, owner, vectors, texts)
		if !errors.Is(err, memory.Conflict) { // somebody wrote meanwhile: look again
			return err
		}
	}
	return nil
}

// embedAll embeds texts; one by one if some are such as the embedder does not take,
// which are left out.
func (e *Filler) embedAll(ctx context.Context, ids []string, texts map[string]string) ([]memory.Vector, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	model := e.Embedder.Fingerprint()
	inputs := make([]string, len(ids))
	for i, id := range ids {
		inputs[i] = texts[id]
	}
	values, err := e.Embedder.Embed(ctx, memory.AsDocument, inputs...)
	if err == nil && e.Embedder.Fingerprint() != model {
		return nil, memory.Errorf(memory.Unavailable, "the embedder is another meanwhile")
	}
	if errors.Is(err, memory.Invalid) {
		if len(ids) == 1 {
			e.Log.Warn("the embedder does not take a memory; it is found by its words", "memory", ids[0], "err", err)
			return nil, nil
		}
		var out []memory.Vector
		for i := range ids {
			one, err := e.embedAll(ctx, ids[i:i+1], texts)
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
		}
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embed memories: %w", err)
	}
	return core.VectorsOf(ids, model, values), nil
}

// writeVectors writes those of memories that say what was embedded. A Conflict says
// that the owner's memory changed between reading and writing.
func (e *Filler) writeVectors(ctx context.Context, owner memory.Owner, vectors []memory.Vector, texts map[string]string) error {
	version, err := e.Version(ctx, owner)
	if err != nil {
		return err
	}
	ids := make([]string, len(vectors))
	for i, v := range vectors {
		ids[i] = v.Memory
	}
	found, err := e.Store.Get(ctx, owner, ids...)
	if err != nil {
		return fmt.Errorf("read what was embedded: %w", err)
	}
	same := map[string]bool{}
	for _, m := range found {
		same[m.ID()] = m.Content() == texts[m.ID()]
	}
	vectors = slices.DeleteFunc(slices.Clone(vectors), func(v memory.Vector) bool { return !same[v.Memory] })
	if len(vectors) == 0 {
		return nil
	}
	run := memory.Run{ID: core.NewID(), Kind: "embed", Author: byEmbedder, Base: version, Vectors: vectors}
	if _, err := e.Store.Apply(ctx, owner, run); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
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
