package assembly

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfileAgentCLIReadsTheDesignsFiles: a folder whose files have the design's front matter
// alone, and an empty line below it.
func TestProfileAgentCLIReadsTheDesignsFiles(t *testing.T) {
	data := t.TempDir()
	for path, words := range map[string]string{
		"work/facts": "User collects stamps", "home/facts": "User collects coins", "global/facts": "User collects shells",
		"work/summaries": "- User collects things.", "work/turns/user": "I collect stamps.",
	} {
		conversation, folder, _ := strings.Cut(path, "/")
		role := map[string]string{"facts": "memory", "summaries": "summary", "turns/user": "user"}[folder]
		name := "2025-11-20T12-00-00Z__" + strings.ReplaceAll(path, "/", "-") + ".md"
		if role == "summary" {
			name = "summary.md"
		}
		dir := filepath.Join(data, "memory", "entries", path)
		noError(t)(os.MkdirAll(dir, 0o700))
		writeFile(t, filepath.Join(dir, name),
			"---\nid: "+conversation+"-"+role+"\nconversation_id: "+conversation+"\nrole: "+role+"\ncreated_at: '2025-11-20T12:00:00.123456+00:00'\n---\n\n"+words+"\n")
	}
	s := newStage(t, "agent-cli", map[string]string{"data": data, "store": "sqlite", "learn.rules": "off", "recall.threshold": "0"})
	s.settle()
	s.wantFacts("", []string{"User collects stamps", "User collects coins", "User collects shells"})
	s.wantFacts("&kind=summary", []string{"- User collects things."})
	s.wantFacts("&kind=turn", []string{"I collect stamps."})
	c := s.talk()
	c.extras = map[string]any{"memory_id": "work", "memory_mode": "read"}
	got, _ := c.says("What do I collect?")
	s.has("the user message", got.says(-1), "User collects stamps", "User collects shells")
	s.lacks("the user message", got.says(-1), "User collects coins")
}
