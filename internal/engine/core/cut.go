package core

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/internal/wire"
)

// secretLength is how much of a message beyond limits.text is looked at for secrets: one
// that is cut in two would not be recognized. It is longer than a private key.
const secretLength = 8 << 10

// CutMark is what the stored text of a message over limits.text ends with, "" for others.
func (e *Core) CutMark(words string) string {
	if e.Opts.MaxText <= 0 || len(words) <= e.Opts.MaxText {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %x]", len(words), sha256.Sum256([]byte(words)))
}

// Beginning returns as much of a message as memory looks at, in memory of its own.
func (e *Core) Beginning(words string) string {
	return strings.Clone(Clip(words, e.Opts.MaxText+secretLength))
}

// CutMessages cuts the messages of a chat that are over limits.text, and returns their marks
// by index. Their digests remain those of the whole messages, by which placing knows them.
func (e *Core) CutMessages(chat *wire.Chat) map[int]string {
	marks := map[int]string{}
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if mark := e.CutMark(m.Text); mark != "" {
			marks[i], m.Text = mark, e.Beginning(m.Text)
		}
	}
	return marks
}

// Stored returns a message as it is stored: without secrets and, if it has a mark, cut to
// limits.text with the mark at its end.
func (e *Core) Stored(words, mark string) string {
	words = learn.Redact(words, e.Opts.Learn.Personal)
	if mark == "" {
		return words
	}
	return Clip(words, max(0, e.Opts.MaxText-len(mark))) + mark
}
