package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// NewLogger returns a logger that writes lines of JSON ("json") or of text for
// people ("text") and keeps secrets to itself. [memory.Invalid] for any other
// format.
func NewLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, memory.Errorf(memory.Invalid, "log format %q: it is json or text", format)
}

// Hidden stands where a secret was.
const Hidden = "[hidden]"

// secretNames are the attributes whose values are secrets, and secretEnds what
// such names end in; lower case with underscores.
var (
	secretNames = []string{"authorization", "proxy_authorization", "cookie", "set_cookie", "apikey", "bearer", "jwt"}
	secretEnds  = []string{"_key", "secret", "password", "token", "_jwt"}
)

// secretValue is a secret inside a text: credentials in their header's form, the
// keys of the usual providers, signed tokens, and passwords in a URL. It is narrow
// enough to leave sentences about bearers and basics alone.
var secretValue = lazy.Compile(`(?i:\bbearer\s+[a-z0-9._~+/=-]{16,}|\bauthorization:\s*\S+\s+\S+)` +
	`|\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat)[-_][-_A-Za-z0-9]{16,}|\bAIza[-_A-Za-z0-9]{30,}` +
	`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*` +
	`|://[^\s/:@]*:[^\s/@]+@`)

// redact replaces secrets, by the name of an attribute or by how its text looks.
func redact(_ []string, a slog.Attr) slog.Attr {
	if isSecret(a.Key) {
		return slog.String(a.Key, Hidden)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Redact(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			return slog.String(a.Key, Redact(v.Error()))
		case fmt.Stringer:
			return slog.String(a.Key, Redact(v.String()))
		}
	}
	return a
}

func isSecret(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	return slices.Contains(secretNames, key) || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(key, end) })
}

// Redact returns s with what looks like a secret hidden.
func Redact(s string) string {
	return secretValue.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://" + Hidden + "@"
		}
		return Hidden
	})
}

// MemoryDecision is what one run of learning did, in the fields that design 3 gives.
type MemoryDecision struct {
	UserID             string
	InputMessageLength int
	ExtractedCount     int
	Decisions          []Decision
}

// Decision is what became of one extracted fact.
type Decision struct {
	Fact     string `json:"fact"`   // its text where log.content is set, else the id of the stored fact
	Action   string `json:"action"` // "add", "replace" or "ignore"
	TargetID string `json:"target_id,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Redundant is the reason of a fact that was ignored because it was known.
const Redundant = "redundant"

// Log writes the decision as one line named memory_decision.
func (d MemoryDecision) Log(ctx context.Context, log *slog.Logger) {
	decisions := make([]Decision, len(d.Decisions)) // [] rather than null
	for i, one := range d.Decisions {
		one.Fact, one.Reason = Redact(one.Fact), Redact(one.Reason)
		decisions[i] = one
	}
	var text bytes.Buffer // JSON in logs for people, too
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(decisions) // texts always encode
	log.LogAttrs(ctx, slog.LevelInfo, "memory_decision",
		slog.String("event", "memory_decision"),
		slog.String("user_id", d.UserID),
		slog.Int("input_message_length", d.InputMessageLength),
		slog.Int("extracted_count", d.ExtractedCount),
		slog.Any("decisions", json.RawMessage(bytes.TrimSpace(text.Bytes()))))
}
