package engine

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

// cutMark is what the stored text of a message over limits.text ends with, "" for others.
func (e *Engine) cutMark(words string) string {
	if e.opts.MaxText <= 0 || len(words) <= e.opts.MaxText {
		return ""
	}
	return fmt.Sprintf("\n[cut: %d bytes in all, SHA-256 %x]", len(words), sha256.Sum256([]byte(words)))
}

// beginning returns as much of a message as memory looks at, in memory of its own.
func (e *Engine) beginning(words string) string {
	return strings.Clone(clip(words, e.opts.MaxText+secretLength))
}

// cutMessages cuts the messages of a chat that are over limits.text, and returns their marks
// by index. Their digests remain those of the whole messages, by which placing knows them.
func (e *Engine) cutMessages(chat *wire.Chat) map[int]string {
	marks := map[int]string{}
	for i := range chat.Messages {
		m := &chat.Messages[i]
		if mark := e.cutMark(m.Text); mark != "" {
			marks[i], m.Text = mark, e.beginning(m.Text)
		}
	}
	return marks
}

// stored returns a message as it is stored: without secrets and, if it has a mark, cut to
// limits.text with the mark at its end.
func (e *Engine) stored(words, mark string) string {
	words = learn.Redact(words, e.opts.Learn.Personal)
	if mark == "" {
		return words
	}
	return clip(words, max(0, e.opts.MaxText-len(mark))) + mark
}
