package dialog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/wire"
	"github.com/loci-memory/loci/memory"
)

// Chain returns the chain of the path that goes on from one of chain parent, ""
// for none, with a message of that digest. It is the same in every conversation.
func Chain(parent, digest string) string {
	sum := sha256.Sum256([]byte(parent + "/" + digest))
	return hex.EncodeToString(sum[:16])
}

// Chains returns, for each message that is not a system one, the chain of the
// path that ends there.
func Chains(msgs []wire.Message) []string {
	var out []string
	chain := ""
	for _, i := range history(msgs) {
		chain = Chain(chain, msgs[i].Digest)
		out = append(out, chain)
	}
	return out
}

// Telling returns those of the [Chains] that hold the request's last answer, none if it
// has no answer. A conversation that shares it is chosen before all that do not, so
// that the others need not be looked for unless none of those is.
func Telling(msgs []wire.Message) []string {
	hist := history(msgs)
	for i := len(hist) - 1; i >= 0; i-- {
		if msgs[hist[i]].Role == memory.RoleAssistant {
			return Chains(msgs)[i:]
		}
	}
	return nil
}

// Shortlist returns the conversations, at most limit, that share the most with a
// request, given the stored turns that end one of its [Chains]: the deepest
// first, then those with the latest turn.
func Shortlist(turns []memory.Turn, limit int) []string {
	type share struct {
		id    string
		depth int
		last  time.Time
	}
	byID := map[string]*share{}
	var all []*share
	for _, t := range turns {
		s := byID[t.Conversation]
		if s == nil {
			s = &share{id: t.Conversation}
			byID[t.Conversation] = s
			all = append(all, s)
		}
		s.depth = max(s.depth, t.Index)
		if t.RecordedAt.After(s.last) {
			s.last = t.RecordedAt
		}
	}
	slices.SortFunc(all, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), b.last.Compare(a.last), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, s := range all[:min(limit, len(all))] {
		ids = append(ids, s.id)
	}
	return ids
}

// history returns the indexes of the messages that make up the conversation.
func history(msgs []wire.Message) []int {
	var out []int
	for i, m := range msgs {
		if m.Role != memory.RoleSystem {
			out = append(out, i)
		}
	}
	return out
}

// slight reports whether words say too little to tell one conversation from
// another, such as a greeting or "continue".
func slight(text string) bool {
	return len(strings.Fields(text)) < 4 && utf8.RuneCountInString(text) < 24
}
