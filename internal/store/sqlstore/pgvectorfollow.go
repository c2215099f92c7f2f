package sqlstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/memory"
)

// FollowNear brings an owner's copy up to the owner's version, in steps of which each is
// kept: broken off, it goes on where it was.
func (s *Store) FollowNear(ctx context.Context, owner memory.Owner, model string) error {
	if s.pgvector == nil {
		return errNoPgvector
	}
	most := leastStep
	for more := true; more; most = min(2*most, nearStep) {
		var err error
		if more, err = s.follow(ctx, owner, model, most); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends a step.
var errEnough = errors.New("enough for one step")

// follow takes one step of an owner's copy towards the owner's version, and reports
// whether there is more to do. One step at a time is taken, whichever server takes it,
// and none while words are erased: what is read is not older than what is written.
func (s *Store) follow(ctx context.Context, owner memory.Owner, model string, most int) (more bool, err error) {
	err = s.onServer(ctx, func(c *session) error {
		for _, step := range []statement{
			{within, []any{s.pgvector.schema, true}},
			{`INSERT INTO near_state (owner, model) VALUES (?, ?) ON CONFLICT DO NOTHING`, []any{string(owner), model}},
		} {
			if _, err := c.exec(ctx, step.text, step.args...); err != nil {
				return err
			}
		}
		var at, dims int64
		rows, err := c.query(ctx, `SELECT version, dims FROM near_state WHERE owner = ? AND model = ? FOR UPDATE`, string(owner), model)
		if err := only(rows, err, &at, &dims); err != nil {
			return err
		}
		step := &nearBatch{owner: owner, model: model, dims: dims}
		if step.version, more, err = s.readStep(ctx, owner, model, at, most, step); err != nil {
			return err
		}
		return step.write(ctx, c)
	})
	return more, wrap("copy for the search by the server", explainServer(err))
}

// readStep reads what was written after a version, or the front of it, and returns the
// version that this reaches to.
func (s *Store) readStep(ctx context.Context, owner memory.Owner, model string, after int64, most int, into *nearBatch) (version int64, more bool, err error) {
	err = s.follows.see(ctx, owner, func(v *view) error {
		rows, err := v.query(`SELECT version FROM owners WHERE owner = ?1`)
		if err := only(rows, err, &version); err != nil {
			return err
		}
		if after > version { // it is of another history
			into.anew, after = true, 0
		}
		count, last := 0, int64(0)
		err = v.pull(pulling{of: followed, model: model, after: after, yield: func(k pulled) error {
			item := k.item()
			if count >= most && item.Version != last {
				return errEnough
			}
			count, last = count+1, item.Version
			into.add(item)
			return nil
		}})
		if more = errors.Is(err, errEnough); more {
			version, err = last, nil
		}
		return err
	})
	return version, more, err
}

// nearBatch is what one step writes.
type nearBatch struct {
	owner   memory.Owner
	model   string
	version int64
	dims    int64
	anew    bool

	gone []string // ids that stand there otherwise, or not at all
	bare int64

	ids, kinds, projects, agents, conversations, threads, categories, tags, words, vectors listed
	places, expires, lengths                                                               []int64
	terms                                                                                  map[string]int64
	whole                                                                                  map[memory.Kind]memory.Amount // of these
}

func (b *nearBatch) add(item memory.Item) {
	b.gone = append(b.gone, item.ID)
	m := item.Memory
	if item.Removed || m.Content() == "" || m.Turn != nil && !m.Turn.Tells() {
		return
	}
	kind, category, tags := memory.KindSummary, "", []string(nil)
	switch {
	case m.Fact != nil:
		kind, category, tags = memory.KindFact, m.Fact.Category, m.Fact.Tags
	case m.Turn != nil:
		kind = memory.KindTurn
	}
	thread, place := threadOf(m)
	terms, length := termsOf(m)
	if b.terms == nil {
		b.terms, b.whole = map[string]int64{}, map[memory.Kind]memory.Amount{}
	}
	b.whole[kind] = memory.Amount{Memories: b.whole[kind].Memories + 1, Length: b.whole[kind].Length + length}
	b.lengths = append(b.lengths, length)
	for _, t := range terms {
		b.terms[t]++
	}
	scope := m.Scope()
	b.ids, b.kinds = append(b.ids, item.ID), append(b.kinds, string(kind))
	b.projects, b.agents, b.conversations = append(b.projects, scope.Project), append(b.agents, scope.Agent), append(b.conversations, scope.Conversation)
	b.threads, b.places = append(b.threads, thread), append(b.places, place)
	b.categories, b.tags = append(b.categories, category), append(b.tags, strings.Join(tags, between))
	b.expires, b.words = append(b.expires, expiresAt(m)), append(b.words, strings.Join(terms, between))
	halves := b.halvesOf(item.Vector)
	if halves == "" {
		b.bare++
	}
	b.vectors = append(b.vectors, halves)
}

// between stands between terms or tags on their way to the server. A tag that has one
// itself becomes two, as it does in a question.
const between = "\x1f"

// halvesOf writes a vector as a halfvec, "" for one that cannot be compared with others.
func (b *nearBatch) halvesOf(values []float32) string {
	if len(values) == 0 || len(values) > maxNearDims || b.dims > 0 && int64(len(values)) != b.dims {
		return ""
	}
	b.dims = int64(len(values))
	return halfvec(values)
}

// halfvec writes a vector as pgvector reads it, "" if it has no direction.
func halfvec(values []float32) string {
	out := make([]byte, 1, 8*len(values)+2)
	out[0] = '['
	zero := true
	for i, x := range values {
		x = vector.DecodeHalf(vector.EncodeHalf(x))
		if x-x != 0 { // it is infinite, or no number
			return ""
		}
		zero = zero && x == 0
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(out, float64(x), 'g', -1, 32)
	}
	if zero {
		return ""
	}
	return string(append(out, ']'))
}
