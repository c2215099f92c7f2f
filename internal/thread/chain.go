package thread

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/memory"
)

// ChainHash returns the hash of a path through the tree, computed from the hash of the path to the parent ("" for
// none) and the digest of the last message. Equal paths have equal chains in all conversations.
func ChainHash(parent, digest string) string {
	var buffer [128]byte
	sum := sha256.Sum256(append(append(append(buffer[:0], parent...), '/'), digest...))
	return string(hex.AppendEncode(buffer[:0], sum[:16]))
}

// ShortlistConversations returns the ids of up to limit conversations that share most messages with a request. turns
// has the stored turns whose chains are among [Request.Chains]. They are sorted by their deepest such turn, then by
// recency.
func ShortlistConversations(turns []memory.Turn, limit int) []string {
	type share struct {
		id    string
		depth int
		last  time.Time
	}
	byID := map[string]*share{}
	var shares []*share
	for _, t := range turns {
		s := byID[t.Conversation]
		if s == nil {
			s = &share{id: t.Conversation}
			byID[t.Conversation] = s
			shares = append(shares, s)
		}
		s.depth = max(s.depth, t.Index)
		if t.RecordedAt.After(s.last) {
			s.last = t.RecordedAt
		}
	}
	slices.SortFunc(shares, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), b.last.Compare(a.last), cmp.Compare(a.id, b.id))
	})
	var ids []string
	for _, s := range shares[:min(limit, len(shares))] {
		ids = append(ids, s.id)
	}
	return ids
}

// isCommonText reports whether a text is too common to identify a conversation, such as a greeting or "continue".
func isCommonText(text string) bool {
	return len(strings.Fields(text)) < 4 && utf8.RuneCountInString(text) < 24
}
