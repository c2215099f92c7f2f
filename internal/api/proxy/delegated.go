package proxy

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

const (
	// maxDelegated is how many texts that models passed on are remembered at least, for all
	// users.
	maxDelegated = 4096

	// minDelegated is how long such a text is, in bytes: shorter ones a person may type.
	minDelegated = 24

	// quoteTime is how long such a text is also looked for within a message, since some agents
	// put words of their own around it, and quoteWords how many words it has then: a path or a
	// command a person may quote.
	quoteTime  = 2 * time.Minute
	quoteWords = 8

	// maxQuoting is how many words of a message are looked at for that.
	maxQuoting = 4096
)

// delegated remembers what models wrote into the arguments of tool calls, as hashes: an agent
// makes the first message of its sub-agent of it. It is safe for concurrent use.
type delegated struct {
	mu    sync.Mutex
	known [2]map[uint64][]order // by the hash of a whole text, and orders by that of their first words, inverted; the newer ones first; guarded by mu
	last  time.Time             // when the last order came; guarded by mu
}

// order is a text that a message may quote.
type order struct {
	words int
	hash  uint64
	at    time.Time
}

// add remembers the texts in the tool calls of an answer to a chat, but for what the user said
// there.
func (d *delegated) add(owner memory.Owner, chat *chatapi.Chat, toolCalls string, now time.Time) {
	var calls any
	if toolCalls == "" || json.Unmarshal([]byte(toolCalls), &calls) != nil {
		return // no call, or a stream that broke off
	}
	said, all := map[uint64]bool{}, ""
	for _, m := range chat.Messages {
		if m.Role == memory.RoleUser {
			w := wordsOf(m.Text)
			said[w.hash(owner, 0, w.len())] = true
			all += w.text + "\n"
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	eachText(calls, func(text string) {
		w := wordsOf(text)
		key := w.hash(owner, 0, w.len())
		if _, known := d.get(key); known || said[key] {
			return
		}
		d.put(key)
		if w.len() >= quoteWords && !strings.Contains(all, w.text) {
			d.put(^w.hash(owner, 0, quoteWords), order{w.len(), key, now})
			d.last = now
		}
	})
}

// has reports whether a chat begins with such a text, or with a message that quotes one of the
// last minutes.
func (d *delegated) has(owner memory.Owner, chat *chatapi.Chat, now time.Time) bool {
	for _, m := range chat.Messages {
		if m.Role != memory.RoleUser {
			continue
		}
		if len(m.Text) < minDelegated {
			return false
		}
		w := wordsOf(m.Text)
		key := w.hash(owner, 0, w.len())
		d.mu.Lock()
		defer d.mu.Unlock()
		if _, known := d.get(key); known {
			return true
		}
		if now.Sub(d.last) > quoteTime || !d.quotes(owner, w, now) {
			return false
		}
		d.put(key) // the sub-agent's later requests begin with it, too
		return true
	}
	return false
}

// quotes reports whether an order stands in a text. The caller holds mu.
func (d *delegated) quotes(owner memory.Owner, w spacedText, now time.Time) bool {
	for i := range min(w.len()-quoteWords+1, maxQuoting) {
		orders, _ := d.get(^w.hash(owner, i, i+quoteWords))
		for _, o := range orders {
			if now.Sub(o.at) <= quoteTime && i+o.words <= w.len() && w.hash(owner, i, i+o.words) == o.hash {
				return true
			}
		}
	}
	return false
}

func (d *delegated) get(key uint64) ([]order, bool) {
	newer, ok := d.known[0][key]
	older, was := d.known[1][key]
	return append(newer[:len(newer):len(newer)], older...), ok || was
}

func (d *delegated) put(key uint64, orders ...order) {
	if d.known[0] == nil || len(d.known[0]) >= maxDelegated {
		d.known = [2]map[uint64][]order{{}, d.known[0]}
	}
	d.known[0][key] = append(d.known[0][key], orders...)
}

// spacedText is a text with single spaces, and where its words begin; the last of those is behind it.
type spacedText struct {
	text   string
	begins []int
}

func wordsOf(text string) spacedText {
	w, at := spacedText{begins: []int{0}}, 0
	fields := strings.Fields(text)
	for _, f := range fields {
		at += len(f) + 1
		w.begins = append(w.begins, at)
	}
	w.text = strings.Join(fields, " ")
	return w
}

func (w spacedText) len() int { return len(w.begins) - 1 }

var delegatedSeed = maphash.MakeSeed()

// hash returns that of the words from one on and before another.
func (w spacedText) hash(owner memory.Owner, from, to int) uint64 {
	var h maphash.Hash
	h.SetSeed(delegatedSeed)
	_, _ = h.WriteString(string(owner)) // never fails
	_ = h.WriteByte(0)
	_, _ = h.WriteString(w.text[w.begins[from]:max(w.begins[to]-1, 0)])
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
		if len(v) < minDelegated {
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
