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
	// shingleWords is the number of consecutive words, called a shingle, by which text is recognized.
	shingleWords = 8

	// relayedTTL and maxShingles bound the age and the size of the newer of two generations of shingles.
	// Beyond either bound, the newer generation replaces the older one, and an empty generation begins.
	relayedTTL  = time.Hour
	maxShingles = 4096

	// orderTTL is the time in which a message that quotes a model's order counts as sent by an agent; later,
	// a person may quote the order. minOrder is the minimum length of an order in bytes, since an order may
	// have fewer words than a shingle.
	orderTTL = 2 * time.Minute
	minOrder = 24
)

// RelayedText recognizes text that Loci recently passed to or from each owner, by keyed hashes of shingles. A
// model's answers, its orders (instructions to other agents in tool calls) and tool results are not the
// person's words, even in a later message. Text that the person wrote first is still the person's. The zero
// value is ready to use and safe for concurrent use.
type RelayedText struct {
	mu     sync.Mutex // guards the values of owners
	owners recent.Map[memory.Owner, *ownerRelayed]
}

// ownerRelayed is the recent text of one owner.
type ownerRelayed struct {
	generations    [2]map[uint64]textOrigin // the newer generation first
	newerCreatedAt time.Time                // creation time of the newer generation
	hasStoredTurns bool                     // true once the stored turns were added
}

// textOrigin is the origin of a text: the person, a model or tool, or a model's order to an agent.
type textOrigin struct {
	byUser    bool
	orderedAt time.Time // when a model gave the text as an order; zero: not an order
}

var shingleSeed = maphash.MakeSeed()

// Forget removes an owner's hashes.
func (p *RelayedText) Forget(owner memory.Owner) {
	p.owners.DeleteFunc(func(o memory.Owner, _ *ownerRelayed) bool { return o == owner })
}

// forOwner returns an owner's hashes. The caller must hold mu.
func (p *RelayedText) forOwner(owner memory.Owner, now time.Time) *ownerRelayed {
	o, found := p.owners.Get(owner)
	if !found {
		o = &ownerRelayed{generations: [2]map[uint64]textOrigin{{}, {}}, newerCreatedAt: now}
		p.owners.Set(owner, o)
	}
	if now.Sub(o.newerCreatedAt) > relayedTTL || len(o.generations[0]) > maxShingles {
		o.generations, o.newerCreatedAt = [2]map[uint64]textOrigin{{}, o.generations[0]}, now
	}
	return o
}

func (o *ownerRelayed) originOf(key uint64) (textOrigin, bool) {
	origin, ok := o.generations[0][key]
	if !ok {
		origin, ok = o.generations[1][key]
	}
	return origin, ok
}

// addText adds the shingles of a text that are not stored yet.
func (o *ownerRelayed) addText(owner memory.Owner, text string, origin textOrigin) {
	eachShingle(owner, text, func(_, _ int, key uint64) {
		if _, found := o.originOf(key); !found {
			o.generations[0][key] = origin
		}
	})
}

// AddRequest adds the user messages and tool results of a request since the last answer.
func (p *RelayedText) AddRequest(owner memory.Owner, chat *chatapi.Chat, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.forOwner(owner, now)
	for _, m := range slices.Backward(chat.Messages) {
		switch m.Role {
		case memory.RoleAssistant:
			return
		case memory.RoleUser, memory.RoleTool:
			o.addText(owner, m.Text, textOrigin{byUser: m.Role == memory.RoleUser})
			if key := hashText(owner, m.Text); m.Role == memory.RoleUser && o.generations[0][key].orderedAt.IsZero() {
				o.generations[0][key] = textOrigin{byUser: true}
			}
		}
	}
}

// AddAnswer adds the text of an answer, and the orders in the arguments of its tool calls.
func (p *RelayedText) AddAnswer(owner memory.Owner, answer chatapi.Answer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.forOwner(owner, now)
	o.addText(owner, answer.Text, textOrigin{})
	var calls any
	if answer.ToolCalls != "" && json.Unmarshal([]byte(answer.ToolCalls), &calls) == nil { // fails if the stream was interrupted
		eachLongString(calls, func(text string) {
			o.addText(owner, text, textOrigin{orderedAt: now})
			if key := hashText(owner, text); !o.generations[0][key].byUser {
				o.generations[0][key] = textOrigin{orderedAt: now}
			}
		})
	}
}

// IsOrder reports whether a message is a model's order, or quotes an order of the last two minutes.
func (p *RelayedText) IsOrder(owner memory.Owner, message string, now time.Time) (isOrder bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, found := p.owners.Get(owner)
	if !found || len(message) < minOrder {
		return false
	}
	if c, _ := o.originOf(hashText(owner, message)); !c.orderedAt.IsZero() {
		return true
	}
	eachShingle(owner, message, func(_, _ int, key uint64) {
		c, _ := o.originOf(key)
		isOrder = isOrder || !c.orderedAt.IsZero() && now.Sub(c.orderedAt) <= orderTTL
	})
	if isOrder { // later requests of the agent also begin with the message
		o.generations[0][hashText(owner, message)] = textOrigin{orderedAt: now}
	}
	return isOrder
}

// PartsOf returns the parts of a message that Loci relayed, with adjacent sentence fragments.
func (p *RelayedText) PartsOf(owner memory.Owner, message string) (relayed memory.Ranges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, found := p.owners.Get(owner)
	if !found {
		return ""
	}
	start, end, done := -1, -1, 0
	flush := func() {
		if end > start {
			start, end = withFragments(message, max(start, done), end)
			relayed, done = relayed.With(start, end), end
		}
	}
	eachShingle(owner, message, func(spanStart, spanEnd int, key uint64) {
		if c, found := o.originOf(key); !found || c.byUser {
			return
		}
		if spanStart > end {
			flush()
			start = spanStart
		}
		end = spanEnd
	})
	flush()
	return relayed
}

// fragmentWords is the maximum number of words of a sentence fragment that has no meaning alone.
const fragmentWords = 4

// withFragments extends a range of a text by adjacent sentence fragments.
func withFragments(text string, oldStart, oldEnd int) (newStart, newEnd int) {
	newStart = strings.LastIndexAny(text[:oldStart], ".!?\n") + 1
	if len(strings.Fields(text[newStart:oldStart])) > fragmentWords {
		newStart = oldStart
	}
	newEnd = oldEnd + strings.IndexAny(text[oldEnd:]+"\n", ".!?\n")
	if len(strings.Fields(text[oldEnd:newEnd])) > fragmentWords {
		newEnd = oldEnd
	}
	return newStart, newEnd
}

// AddStoredTurns adds, once per owner, stored turns that this process has not relayed: from before a restart,
// or through another server. readTurns returns the turns, newest first.
func (p *RelayedText) AddStoredTurns(owner memory.Owner, now time.Time, readTurns func() ([]memory.Memory, error)) error {
	p.mu.Lock()
	read := p.forOwner(owner, now).hasStoredTurns
	p.mu.Unlock()
	if read {
		return nil
	}
	stored, err := readTurns()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.forOwner(owner, now)
	o.hasStoredTurns = true
	for _, m := range slices.Backward(stored) {
		if t := m.Turn; now.Sub(t.CreatedAt) < relayedTTL {
			o.addText(owner, t.Content, textOrigin{byUser: t.Role == memory.RoleUser})
		}
	}
	return nil
}

// eachShingle yields the range and hash of each shingle, ignoring case and punctuation.
func eachShingle(owner memory.Owner, text string, yield func(start, end int, key uint64)) {
	var spans [shingleWords][2]int
	var words [shingleWords]string
	n := 0
	utterance.EachWordSpan(text, func(start, end int) {
		spans[n%shingleWords], words[n%shingleWords] = [2]int{start, end}, strings.ToLower(text[start:end])
		if n++; n >= shingleWords {
			first := n % shingleWords
			yield(spans[first][0], end, hashWords(owner, slices.Concat(words[first:], words[:first])))
		}
	})
}

// hashText returns the hash of a whole text.
func hashText(owner memory.Owner, text string) uint64 {
	return hashWords(owner, append(strings.Fields(strings.ToLower(text)), ""))
}

func hashWords(owner memory.Owner, words []string) uint64 {
	var h maphash.Hash
	h.SetSeed(shingleSeed)
	_, _ = h.WriteString(string(owner)) // never fails
	for _, w := range words {
		_ = h.WriteByte(0)
		_, _ = h.WriteString(w)
	}
	return h.Sum64()
}

// eachLongString yields the strings of at least minOrder bytes in a JSON value and in JSON in its strings.
func eachLongString(v any, yield func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			eachLongString(inner, yield)
		}
	case []any:
		for _, inner := range v {
			eachLongString(inner, yield)
		}
	case string:
		if len(v) < minOrder {
			return
		}
		var inside map[string]any
		if strings.HasPrefix(strings.TrimSpace(v), "{") && json.Unmarshal([]byte(v), &inside) == nil {
			eachLongString(inside, yield)
			return
		}
		yield(v)
	}
}
