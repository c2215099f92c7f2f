package proxy

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// headerSubagent says that a model, and not a person, asks: Codex sends it.
const headerSubagent = "X-Openai-Subagent"

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
	eachText(gjson.Parse(a.ToolCalls), func(text string) {
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
func eachText(v gjson.Result, yield func(string)) {
	switch {
	case v.IsObject() || v.IsArray():
		v.ForEach(func(_, inner gjson.Result) bool {
			eachText(inner, yield)
			return true
		})
	case v.Type == gjson.String && len(v.Str) >= minDelegated:
		if s := strings.TrimSpace(v.Str); strings.HasPrefix(s, "{") && gjson.Valid(s) {
			eachText(gjson.Parse(s), yield)
			return
		}
		yield(v.Str)
	}
}
