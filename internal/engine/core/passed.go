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
	// shingle is the number of consecutive words that identify a text.
	shingle = 8

	// relayedTTL is the minimum time for which text is recognized, and maxShingles bounds the shingles
	// of an owner. Both limit the newer of two generations of shingles. When the newer one is full,
	// the older one is dropped.
	passedTime = time.Hour
	mostPassed = 4096

	// orderTTL is the time in which a message that quotes a model's order counts as an agent's; a
	// person may quote the order later. minOrder is the minimum length of an order in bytes, since an
	// order may have fewer words than a shingle.
	orderTime = 2 * time.Minute
	minOrder  = 24
)

// RelayedText recognizes text that Loci recently passed to or from each owner, by keyed hashes of
// shingles. A model's answers, its orders and tool results are not the person's words, even in a
// later message. Text that the person wrote first is still the person's. The zero value is ready to
// use and safe for concurrent use.
type Passed struct {
	mu     sync.Mutex // guards the values of owners
	owners recent.Map[memory.Owner, *passedOn]
}

// ownerRelayed is the recent text of one owner.
type passedOn struct {
	halves [2]map[uint64]textOrigin // the newer generation first
	since  time.Time                // creation time of the newer generation
	read   bool                     // stored turns have been added
}

// textOrigin is the origin of a text: the person, a model or tool, or a model's order to an agent.
type textOrigin struct {
	own   bool
	order time.Time // when a model gave the text as an order; zero: not an order
}

var passedSeed = maphash.MakeSeed()

// Forget removes an owner's hashes.
func (p *Passed) Forget(owner memory.Owner) {
	p.owners.DeleteFunc(func(o memory.Owner, _ *passedOn) bool { return o == owner })
}

// forOwner returns an owner's hashes. The caller must hold mu.
func (p *Passed) of(owner memory.Owner, now time.Time) *passedOn {
	o, found := p.owners.Get(owner)
	if !found {
		o = &passedOn{halves: [2]map[uint64]textOrigin{{}, {}}, since: now}
		p.owners.Set(owner, o)
	}
	if now.Sub(o.since) > passedTime || len(o.halves[0]) > mostPassed {
		o.halves, o.since = [2]map[uint64]textOrigin{{}, o.halves[0]}, now
	}
	return o
}

func (o *passedOn) get(key uint64) (textOrigin, bool) {
	c, ok := o.halves[0][key]
	if !ok {
		c, ok = o.halves[1][key]
	}
	return c, ok
}

// addText adds the shingles of a text that are not stored yet.
func (o *passedOn) put(owner memory.Owner, text string, c textOrigin) {
	eachShingle(owner, text, func(_, _ int, key uint64) {
		if _, found := o.get(key); !found {
			o.halves[0][key] = c
		}
	})
}

// AddRequest adds the user messages and tool results of a request since the last answer.
func (p *Passed) AddRequest(owner memory.Owner, chat *chatapi.Chat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.of(owner, now)
	for _, m := range slices.Backward(chat.Messages) {
		switch m.Role {
		case memory.RoleAssistant:
			return
		case memory.RoleUser, memory.RoleTool:
			o.put(owner, m.Text, textOrigin{own: m.Role == memory.RoleUser})
			if key := hashOf(owner, m.Text); m.Role == memory.RoleUser && o.halves[0][key].order.IsZero() {
				o.halves[0][key] = textOrigin{own: true}
			}
		}
	}
}

// AddAnswer adds the text of an answer, and the orders in the arguments of its tool calls.
func (p *Passed) Answered(owner memory.Owner, a chatapi.Answer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.of(owner, now)
	o.put(owner, a.Text, textOrigin{})
	var calls any
	if a.ToolCalls != "" && json.Unmarshal([]byte(a.ToolCalls), &calls) == nil { // fails if the stream was interrupted
		eachText(calls, func(text string) {
			o.put(owner, text, textOrigin{order: now})
			if key := hashOf(owner, text); !o.halves[0][key].own {
				o.halves[0][key] = textOrigin{order: now}
			}
		})
	}
}

// IsOrder reports whether a message is a model's order, or quotes an order of the last two minutes.
func (p *Passed) Ordered(owner memory.Owner, message string, now time.Time) (is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, found := p.owners.Get(owner)
	if !found || len(message) < minOrder {
		return false
	}
	if c, _ := o.get(hashOf(owner, message)); !c.order.IsZero() {
		return true
	}
	eachShingle(owner, message, func(_, _ int, key uint64) {
		c, _ := o.get(key)
		is = is || !c.order.IsZero() && now.Sub(c.order) <= orderTime
	})
	if is { // later requests of the agent also begin with the message
		o.halves[0][hashOf(owner, message)] = textOrigin{order: now}
	}
	return is
}

// PartsOf returns the parts of a message that Loci relayed, with adjacent sentence fragments.
func (p *Passed) In(owner memory.Owner, message string) (foreign memory.Ranges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, found := p.owners.Get(owner)
	if !found {
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
		if c, found := o.get(key); !found || c.own {
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

// fragmentWords is the maximum number of words of a sentence fragment without a meaning of its own.
const fragmentWords = 4

// withFragments extends a range of a text by adjacent sentence fragments.
func around(text string, start, end int) (from, to int) {
	from = strings.LastIndexAny(text[:start], ".!?\n") + 1
	if len(strings.Fields(text[from:start])) > fragmentWords {
		from = start
	}
	to = end + strings.IndexAny(text[end:]+"\n", ".!?\n")
	if len(strings.Fields(text[end:to])) > fragmentWords {
		to = end
	}
	return from, to
}

// AddStoredTurns adds turns from before this process first handled the owner: before a restart, or
// by another server. readTurns returns the turns, newest first.
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
			o.put(owner, t.Content, textOrigin{own: t.Role == memory.RoleUser})
		}
	}
	return nil
}

// eachShingle yields the range and hash of each shingle, ignoring case and punctuation.
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

// hashText returns the hash of a whole text.
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

// eachLongString yields the long strings in a JSON value, including those in strings that contain JSON.
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
