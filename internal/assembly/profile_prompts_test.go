package assembly

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/prompt"
)

// TestPromptVariantsFollowTheirModel has a variant of each prompt for each model: the one that
// learns, and the one that answers chats and queries.
func TestPromptVariantsFollowTheirModel(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"write", "summarize", "system"} {
		for _, model := range []string{"learner", "chatter"} {
			file := name + "@" + model + ".md"
			source := strings.Replace(prompt.Default().File(name).Source, "<!-- user -->", "This is "+file+".\n<!-- user -->", 1)
			writeFile(t, filepath.Join(dir, file), source)
		}
	}
	s := newStage(t, "platform", map[string]string{"prompts": dir, "chats.model": "chatter", "summaries.every": "2"})
	s.query("Good.", map[string]any{"query": "I like plums.", "session_id": "s"})
	s.model.taken("")
	s.model.on("summarize", "- User likes figs.")
	s.query("Good.", map[string]any{"query": "I like figs.", "session_id": "s"})
	s.has("the answer's prompt", s.model.lastChat(t).says(0), "This is write@chatter.md")
	asked := s.model.taken("summarize")
	if len(asked) != 1 {
		t.Fatalf("summarize was sent %d times, want once", len(asked))
	}
	s.has("summarize", asked[0].system, "This is summarize@learner.md")

	var chat struct{ ID string }
	s.ok(&chat, "POST", "/api/chats", `{}`)
	s.ok(nil, "POST", "/api/chats/"+chat.ID+"/messages", `{"content":"I like plums."}`)
	s.has("the system message", s.model.lastChat(t).says(0), "This is system@chatter.md")

	// The page shows each prompt as its model gets it.
	for name, file := range map[string]string{"write": "write@chatter.md", "summarize": "summarize@learner.md", "system": "system@chatter.md"} {
		s.has("the page of "+name, s.ok(nil, "GET", "/settings/prompts/"+name, ""), "This is "+file)
	}
}
