package chatapi

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/utterance"
	"github.com/loci-memory/loci/memory"
)

// IsFrontEndTask reports whether a client program sent a request for its own purposes: for a title, tags,
// follow-up questions, a search query or a summary of a conversation. Either the system message or the last
// user message begins like a task ([utterance.IsClientTask]), or the only user message quotes a conversation
// and asks for such a text. A person's request for a title, without a quoted conversation, does not count.
func IsFrontEndTask(c *Chat) bool {
	instructions, quoted := "", ""
	last := c.LastUser()
	for i, m := range c.Messages {
		if (i == last || m.Role == memory.RoleSystem && len(c.Messages) <= 3) && utterance.IsClientTask(m.Text) {
			return true
		}
	}
	for _, m := range c.Messages {
		switch {
		case m.Role == memory.RoleSystem:
			instructions += m.Text + "\n"
		case m.Role == memory.RoleUser && quoted == "":
			quoted = m.Text
		default:
			return false
		}
	}
	if strings.Contains(quoted, "<chat_history>") && strings.Contains(quoted, "</chat_history>") {
		return true // the instruction may be in any language
	}
	beginning := strings.ToLower(truncated(quoted, taskPrefixSize))
	if strings.HasPrefix(strings.TrimSpace(beginning), "### task:") {
		return taskSections.MatchString(quoted)
	}
	requestsTask := taskRequests.MatchString(beginning) || taskRequests.MatchString(strings.ToLower(truncated(instructions, taskPrefixSize)))
	return requestsTask && transcript.MatchString(quoted)
}

// IsFromSubagent reports whether a message shows that a sub-agent sent the request
// ([utterance.IsFromSubagent]).
func IsFromSubagent(c *Chat) bool {
	return slices.ContainsFunc(c.Messages, func(m Message) bool {
		return (m.Role == memory.RoleSystem || m.Role == memory.RoleUser) && utterance.IsFromSubagent(m.Text)
	})
}

// taskPrefixSize is the number of bytes at the beginning of a message that are searched for the instruction of
// a task, which front ends write in the first sentences.
const taskPrefixSize = 400

var (
	// taskSections matches front ends' headings for quoted conversations, which people do not write.
	taskSections = lazy.Compile(`(?i)<chat_history>|### chat history|<type>[^<]*</type>\s*<text>`)

	// transcript matches a quoted conversation.
	transcript = lazy.Compile(`(?i)<chat_history>|<conversation>|(?m:^\W*(conversation|chat history)\W*$)|(?ms:^\W*(user|human)\W*:.*^\W*(assistant|ai|bot|model)\W*:)`)

	// taskRequests matches a request for a title, tags or follow-ups of limited length.
	taskRequests = lazy.Compile(`(?s)\b(generate|create|provide|write|suggest|summari[sz]e|come up with|give)\b.{0,120}` +
		`(\b(concise|short|brief)\b.{0,60}\b(title|header|phrase|name|topic)\b|\btitle\b.{0,60}\b(words?|characters) or (less|fewer)\b|\btitle\b.{0,60}\b\d words\b|\b\d+ (broad |general |relevant )*tags\b|\bfollow-up questions\b)`)
)

// truncated returns the first n bytes of s, rounded down to whole characters.
func truncated(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
