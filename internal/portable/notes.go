package portable

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// maxNote bounds a note, which is read whole.
const maxNote = 1 << 20

var (
	observation = lazy.Compile(`^[-*]\s+\[([^\]\[()]{1,80})\]\s+(\S.*)$`)
	hashtag     = lazy.Compile(`(?:^|\s)#([\p{L}\d_/-]+)`)
	inBrackets  = lazy.Compile(`\s*\([^()]*\)\s*$`)
)

// note reads one Markdown file with front matter: of agent-cli a memory, by its role
// a fact, a turn or a summary; of basic-memory a note, whose observations are facts
// about its title.
func (r Reader) note(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, maxNote+1))
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case len(text) > maxNote:
		return r.Bad(1, memory.Errorf(memory.TooLarge, "a note of more than %d bytes", maxNote))
	case !utf8.Valid(text):
		return r.Bad(1, errNotText)
	}
	front, body, first := frontMatter(string(text))
	if front == nil {
		return r.Bad(1, memory.Errorf(memory.Invalid, "there is no front matter; --from list reads plain lists"))
	}
	if front["conversation_id"] != "" {
		return r.agentCLI(front, strings.TrimSpace(body))
	}
	about, n := front["title"], first
	for line := range strings.Lines(body) {
		n++
		m := observation.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.TrimSpace(m[1]) == "" || m[1] == "x" {
			continue
		}
		words := inBrackets.ReplaceAllString(m[2], "")
		f := memory.Fact{
			Category: m[1], Trust: memory.TrustUser, Scope: memory.Scope{Project: r.Project},
			CreatedAt: someTime(front["created"]), UpdatedAt: someTime(front["modified"]),
		}
		for _, tag := range hashtag.FindAllStringSubmatch(words, -1) {
			f.Tags = append(f.Tags, tag[1])
		}
		f.Content = strings.TrimSpace(hashtag.ReplaceAllString(words, ""))
		if about != "" {
			f.Content = about + ": " + f.Content
		}
		if err := r.give(Record{Line: n, Size: len(line), Made: true, Fact: &f}); err != nil {
			return err
		}
	}
	return nil
}

func (r Reader) agentCLI(front map[string]string, words string) error {
	at := someTime(front["created_at"])
	rec := Record{Line: 1, Size: len(words), Made: true}
	conversation := front["conversation_id"]
	if conversation == "global" { // the user's own, not of a chat
		conversation = ""
	}
	switch role := memory.Role(front["role"]); role {
	case memory.RoleUser, memory.RoleAssistant:
		c := memory.Conversation{ID: r.ID("agent-cli", front["conversation_id"]), Owner: r.Owner, Project: r.Project, Title: front["conversation_id"], CreatedAt: at, UpdatedAt: at}
		if err := r.give(Record{Line: 1, Size: 200, Made: true, Conversation: &c}); err != nil {
			return err
		}
		rec.Turn = &memory.Turn{
			ID: r.ID("agent-cli", front["id"], words), Owner: r.Owner, Conversation: c.ID, Project: r.Project,
			Role: role, Content: words, Ref: text.Clip(front["id"], 256), Status: memory.Active, CreatedAt: at,
		}
	case "summary":
		return nil // it is written anew from the turns
	default:
		rec.Fact = &memory.Fact{Content: words, Trust: memory.TrustUser, Scope: memory.Scope{Project: r.Project}, CreatedAt: at}
		if conversation != "" {
			rec.Fact.Provenance.Conversation = r.ID("agent-cli", conversation)
		}
	}
	return r.give(rec)
}

// frontMatter reads the plain keys of front matter, nil without any, and says on
// which line the body begins less one.
func frontMatter(text string) (front map[string]string, body string, first int) {
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
