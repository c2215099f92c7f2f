package portable

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// maxNoteBytes limits the size of a note, since a note is read as a whole.
const maxNoteBytes = 1 << 20

var (
	observationPattern = lazy.Compile(`^[-*]\s+\[([^\]\[()]{1,80})\]\s+(\S.*)$`)
	hashtagPattern     = lazy.Compile(`(?:^|\s)#([\p{L}\d_/-]+)`)
	parenthesesPattern = lazy.Compile(`\s*\([^()]*\)\s*$`)
)

// readNote reads one Markdown file with front matter. A file of agent-cli is a fact, a turn or a summary,
// as its key role says. A file of basic-memory is a note whose list items "[CATEGORY] TEXT" become facts.
func (r Reader) readNote(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, maxNoteBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case len(text) > maxNoteBytes:
		return r.OnError(1, memory.Errorf(memory.TooLarge, "the note has more than %d bytes", maxNoteBytes))
	case !utf8.Valid(text):
		return r.OnError(1, errNotText)
	}
	front, body, first := frontMatter(string(text))
	if front == nil {
		return r.OnError(1, memory.Errorf(memory.Invalid, "the file has no front matter; use --from list for plain lists"))
	}
	if front["conversation_id"] != "" {
		return r.emitAgentCLI(front, strings.TrimSpace(body))
	}
	about, n := front["title"], first
	for line := range strings.Lines(body) {
		n++
		m := observationPattern.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.TrimSpace(m[1]) == "" || m[1] == "x" {
			continue
		}
		words := parenthesesPattern.ReplaceAllString(m[2], "")
		f := memory.Fact{Category: m[1], Trust: memory.TrustUser, CreatedAt: parseTime(front["created"]), UpdatedAt: parseTime(front["modified"])}
		for _, tag := range hashtagPattern.FindAllStringSubmatch(words, -1) {
			f.Tags = append(f.Tags, tag[1])
		}
		f.Content = strings.TrimSpace(hashtagPattern.ReplaceAllString(words, ""))
		if about != "" {
			f.Content = about + ": " + f.Content
		}
		if err := r.emitFact(n, len(line), f); err != nil {
			return err
		}
	}
	return nil
}

func (r Reader) emitAgentCLI(front map[string]string, text string) error {
	at, conversation, id := parseTime(front["created_at"]), front["conversation_id"], front["id"]
	switch role := memory.Role(front["role"]); role {
	case memory.RoleUser, memory.RoleAssistant:
		return r.emitChat(1, chat{
			program: "agent-cli", id: conversation, title: conversation, created: at, updated: at,
			messagesByID: map[string]message{id + text: {role: role, text: text, foreignID: id, created: at}}, currentID: id + text,
		})
	case "summary":
		return nil // Loci summarizes the turns itself
	}
	f := memory.Fact{Content: text, Trust: memory.TrustUser, CreatedAt: at}
	if conversation != "global" { // "global" means that the memory belongs to no chat
		f.Provenance.Conversation = r.DeriveID("agent-cli", conversation)
	}
	return r.emitFact(1, len(text), f)
}

// frontMatter parses the scalar keys of front matter; front is nil without front matter. linesBefore
// is the number of lines before the body.
func frontMatter(text string) (front map[string]string, body string, linesBefore int) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), byteOrderMark)
	rest, ok := strings.CutPrefix(text, "---\n")
	head, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return nil, text, 0
	}
	front = map[string]string{}
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		if ok && key == strings.TrimSpace(key) {
			front[key] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return front, body, 2 + strings.Count(head, "\n") + 1
}
