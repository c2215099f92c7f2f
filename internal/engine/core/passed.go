package core

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/internal/recent"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

const (
	// shingle is how many words in a row are known again.
	shingle = 8

	// passedTime is how long at least what was passed on is known, and mostPassed how many shingles
	// of an owner at most: both are halves, of which the older one is dropped.
	passedTime = time.Hour
	mostPassed = 4096

	// orderTime is how long a message that quotes an order of a model is taken for an agent's: a
	// person may quote it later on. minOrder is how many bytes an order of fewer words has.
	orderTime = 2 * time.Minute
	minOrder  = 24
)

// Passed knows what Loci carried lately for each owner, by keyed hashes of words in a row: what models
// answered and ordered and what tools returned is not the person's where it stands in a later message.
// What the person had said before stays theirs. The zero value is ready; it is safe for concurrent use.
type Passed struct {
	mu     sync.Mutex // guards what is known of each
	owners recent.Map[memory.Owner, *passedOn]
}

// passedOn is what was carried for one owner.
type passedOn struct {
	known [2]map[uint64]carried // the newer half first
	since time.Time             // of the newer half
	read  bool                  // what the store has is in it
}

// carried is whose words are: the person's own, an answer's or a tool's, or an order's to an agent.
type carried struct {
	own   bool
	order time.Time // zero: none
}

var passedSeed = maphash.MakeSeed()

// Forget removes what is known of an owner.
func (p *Passed) Forget(owner memory.Owner) {
	p.owners.DeleteFunc(func(o memory.Owner, _ *passedOn) bool { return o == owner })
}

// of returns what is known of an owner. The caller holds mu.
func (p *Passed) of(owner memory.Owner, now time.Time) *passedOn {
	o, known := p.owners.Get(owner)
	if !known {
		o = &passedOn{known: [2]map[uint64]carried{{}, {}}, since: now}
		p.owners.Set(owner, o)
	}
	if now.Sub(o.since) > passedTime || len(o.known[0]) > mostPassed {
		o.known, o.since = [2]map[uint64]carried{{}, o.known[0]}, now
	}
	return o
}

func (o *passedOn) get(key uint64) (carried, bool) {
	c, ok := o.known[0][key]
	if !ok {
		c, ok = o.known[1][key]
	}
	return c, ok
}

// put notes the words of a text that are not known yet.
func (o *passedOn) put(owner memory.Owner, text string, c carried) {
	eachShingle(owner, text, func(_, _ int, key uint64) {
		if _, known := o.get(key); !known {
			o.known[0][key] = c
		}
	})
}

// Said notes what stands in a request: what the person says, and what tools returned since the last
// answer.
func (p *Passed) Said(owner memory.Owner, chat *chatapi.Chat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.of(owner, now)
	for _, m := range slices.Backward(chat.Messages) {
		switch m.Role {
		case memory.RoleAssistant:
			return
		case memory.RoleUser, memory.RoleTool:
			o.put(owner, m.Text, carried{own: m.Role == memory.RoleUser})
			if key := hashOf(owner, m.Text); m.Role == memory.RoleUser && o.known[0][key].order.IsZero() {
				o.known[0][key] = carried{own: true}
			}
		}
	}
}

// Answered notes what an answer says, and what it orders in the arguments of its calls.
func (p *Passed) Answered(owner memory.Owner, a chatapi.Answer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.of(owner, now)
	o.put(owner, a.Text, carried{})
	var calls any
	if a.ToolCalls != "" && json.Unmarshal([]byte(a.ToolCalls), &calls) == nil { // else a stream that broke off
		eachText(calls, func(text string) {
			o.put(owner, text, carried{order: now})
			if key := hashOf(owner, text); !o.known[0][key].own {
				o.known[0][key] = carried{order: now}
			}
		})
	}
}

// Ordered reports whether a message is what a model ordered, or quotes an order of the last minutes.
func (p *Passed) Ordered(owner memory.Owner, message string, now time.Time) (is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, known := p.owners.Get(owner)
	if !known || len(message) < minOrder {
		return false
	}
	if c, _ := o.get(hashOf(owner, message)); !c.order.IsZero() {
		return true
	}
	eachShingle(owner, message, func(_, _ int, key uint64) {
		c, _ := o.get(key)
		is = is || !c.order.IsZero() && now.Sub(c.order) <= orderTime
	})
	if is { // the agent's later requests begin with it, too
		o.known[0][hashOf(owner, message)] = carried{order: now}
	}
	return is
}

// In returns which parts of a message Loci carried before, with what is left of a sentence around them
// if that says nothing by itself.
func (p *Passed) In(owner memory.Owner, message string) (foreign memory.Ranges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, known := p.owners.Get(owner)
	if !known {
		return ""
	}
	start, end, done := -1, -1, 0
	flush := func() {
		if end > start {
			start, end = around(message, max(start, done), end)
			foreign, done = foreign.With(start, end), end
		}
	}
	eachShingle(owner, message, func(from, to int, key uint64) {
		if c, known := o.get(key); !known || c.own {
			return
		}
		if from > end {
			flush()
			start = from
		}
		end = to
	})
	flush()
	return foreign
}

// fragment is how many words of a sentence say nothing by themselves.
const fragment = 4

// around returns a part of a text with the fragments of sentences beside it.
func around(text string, start, end int) (from, to int) {
	from = strings.LastIndexAny(text[:start], ".!?\n") + 1
	if len(strings.Fields(text[from:start])) > fragment {
		from = start
	}
	to = end + strings.IndexAny(text[end:]+"\n", ".!?\n")
	if len(strings.Fields(text[end:to])) > fragment {
		to = end
	}
	return from, to
}

// Recall notes what turns said that were passed on before this was asked for an owner for the first
// time: before a restart, or by another server. turns returns them, the newest first.
func (p *Passed) Recall(owner memory.Owner, now time.Time, turns func() ([]memory.Memory, error)) error {
	p.mu.Lock()
	read := p.of(owner, now).read
	p.mu.Unlock()
	if read {
		return nil
	}
	found, err := turns()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.of(owner, now)
	o.read = true
	for _, m := range slices.Backward(found) {
		if t := m.Turn; now.Sub(t.CreatedAt) < passedTime {
			o.put(owner, t.Content, carried{own: t.Role == memory.RoleUser})
		}
	}
	return nil
}

// eachShingle yields each row of words with where it stands, whatever the case and the signs between
// them.
func eachShingle(owner memory.Owner, text string, yield func(from, to int, key uint64)) {
	var at [shingle][2]int
	var words [shingle]string
	n := 0
	utterance.EachWord(text, func(from, to int) {
		at[n%shingle], words[n%shingle] = [2]int{from, to}, strings.ToLower(text[from:to])
		if n++; n >= shingle {
			first := n % shingle
			yield(at[first][0], to, hashWords(owner, slices.Concat(words[first:], words[:first])))
		}
	})
}

// hashOf returns the hash of a whole text.
func hashOf(owner memory.Owner, text string) uint64 {
	return hashWords(owner, append(strings.Fields(strings.ToLower(text)), ""))
}

func hashWords(owner memory.Owner, words []string) uint64 {
	var h maphash.Hash
	h.SetSeed(passedSeed)
	_, _ = h.WriteString(string(owner)) // never fails
	for _, w := range words {
		_ = h.WriteByte(0)
		_, _ = h.WriteString(w)
	}
	return h.Sum64()
}

// eachText yields the long strings in a JSON value; arguments are JSON in a string.
func eachText(v any, yield func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			eachText(inner, yield)
		}
	case []any:
		for _, inner := range v {
			eachText(inner, yield)
		}
	case string:
		if len(v) < minOrder {
			return
		}
		var inside map[string]any
		if strings.HasPrefix(strings.TrimSpace(v), "{") && json.Unmarshal([]byte(v), &inside) == nil {
			eachText(inside, yield)
			return
		}
		yield(v)
	}
}
