package proxy

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

const (
	// maxDelegated is how many texts that models passed on are remembered, for all users.
	maxDelegated = 4096

	// minDelegated is how long such a text is, in bytes: shorter ones a person may type.
	minDelegated = 24
)

// delegated remembers what models wrote into the arguments of tool calls: an agent makes the
// first message of its sub-agent of it. It is safe for concurrent use.
type delegated struct {
	mu    sync.Mutex
	known map[[32]byte]bool // guarded by mu, as is the rest
	ring  [][32]byte
	next  int
}

// add remembers the texts in the tool calls of an answer to a chat, but for what the user said
// there.
func (d *delegated) add(owner memory.Owner, chat *wire.Chat, a wire.Answer) {
	if a.ToolCalls == "" {
		return
	}
	said := map[[32]byte]bool{}
	for _, m := range chat.Messages {
		if m.Role == memory.RoleUser {
			said[delegatedKey(owner, m.Text)] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var calls any
	if json.Unmarshal([]byte(a.ToolCalls), &calls) != nil {
		return // a stream that broke off
	}
	eachText(calls, func(text string) {
		key := delegatedKey(owner, text)
		if d.known[key] || said[key] {
			return
		}
		if d.known == nil {
			d.known = map[[32]byte]bool{}
		}
		if len(d.ring) < maxDelegated {
			d.ring = append(d.ring, key)
		} else {
			delete(d.known, d.ring[d.next])
			d.ring[d.next] = key
			d.next = (d.next + 1) % maxDelegated
		}
		d.known[key] = true
	})
}

// has reports whether a chat begins with such a text.
func (d *delegated) has(owner memory.Owner, chat *wire.Chat) bool {
	for _, m := range chat.Messages {
		if m.Role == memory.RoleUser {
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(m.Text) >= minDelegated && d.known[delegatedKey(owner, m.Text)]
		}
	}
	return false
}

func delegatedKey(owner memory.Owner, text string) [32]byte {
	return sha256.Sum256([]byte(string(owner) + "\x00" + strings.Join(strings.Fields(text), " ")))
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
