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

// NewLogger returns a logger that hides secrets. Its lines are JSON (format "json") or text for people
// ("text"); for another format NewLogger returns [memory.Invalid].
func NewLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redactAttr}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, memory.Errorf(memory.Invalid, "invalid log format %q; valid: json, text", format)
}

// Hidden is the text that replaces a secret.
const Hidden = "[hidden]"

// secretNames are names of attributes with secret values, and secretSuffixes are endings of such names. Both
// are in lower case, with underscores.
var (
	secretNames    = []string{"authorization", "proxy_authorization", "cookie", "set_cookie", "apikey", "bearer", "jwt"}
	secretSuffixes = []string{"_key", "secret", "password", "token", "_jwt"}
)

// secretPattern matches a secret inside a text: credentials of an Authorization header, keys of common providers,
// signed tokens, and passwords in a URL. It does not match ordinary sentences with the words bearer and basic.
var secretPattern = lazy.Compile(`(?i:\bbearer\s+[a-z0-9._~+/=-]{16,}|\bauthorization:\s*\S+\s+\S+)` +
	`|\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat)[-_][-_A-Za-z0-9]{16,}|\bAIza[-_A-Za-z0-9]{30,}` +
	`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*` +
	`|://[^\s/:@]*:[^\s/@]+@`)

// redactAttr replaces secrets, which it recognizes by the attribute's name or by the form of the text.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	if isSecretName(a.Key) {
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

func isSecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	return slices.Contains(secretNames, name) || slices.ContainsFunc(secretSuffixes, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Redact replaces each part of s that looks like a secret by [Hidden].
func Redact(s string) string {
	return secretPattern.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://" + Hidden + "@"
		}
		return Hidden
	})
}

// MemoryDecision is the result of one run of learning, for the log line memory_decision.
type MemoryDecision struct {
	UserID             string
	InputMessageLength int        // total length of the messages in bytes
	ExtractedCount     int        // number of facts that the model or the rules extracted
	Decisions          []Decision // one for each extracted fact
}

// Decision is the result for one extracted fact.
type Decision struct {
	Fact     string `json:"fact"`   // the fact's text with log.content, otherwise the id of the stored fact
	Action   string `json:"action"` // "add", "replace" or "ignore"
	TargetID string `json:"target_id,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ReasonRedundant is the reason for ignoring a fact that was already stored.
const ReasonRedundant = "redundant"

// LogTo writes the decision as one log line named memory_decision.
func (d MemoryDecision) LogTo(ctx context.Context, log *slog.Logger) {
	decisions := make([]Decision, len(d.Decisions)) // not nil, because the JSON of an empty list must be []
	for i, decision := range d.Decisions {
		decision.Fact, decision.Reason = Redact(decision.Fact), Redact(decision.Reason)
		decisions[i] = decision
	}
	var text bytes.Buffer // decisions as JSON, also in a log of the format text
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(decisions) // encoding of texts never fails
	log.LogAttrs(ctx, slog.LevelInfo, "memory_decision",
		slog.String("event", "memory_decision"),
		slog.String("user_id", d.UserID),
		slog.Int("input_message_length", d.InputMessageLength),
		slog.Int("extracted_count", d.ExtractedCount),
		slog.Any("decisions", json.RawMessage(bytes.TrimSpace(text.Bytes()))))
}
