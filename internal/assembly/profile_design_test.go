package assembly

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProfileDesktopKnowsFactsInEveryProject: design 5 keeps one memory for all projects.
func TestProfileDesktopKnowsFactsInEveryProject(t *testing.T) {
	s := newStage(t, "desktop", map[string]string{"learn.every": "1", "preset.exchanges": "1"})
	c := s.talk("X-Loci-Project", "apollo")
	s.model.on("extract", `{"facts": [{"text": "User prefers tea to coffee", "quote": "I prefer tea to coffee"}]}`)
	c.says("I prefer tea to coffee.")
	for _, project := range []string{"apollo", "zeus", ""} {
		q := s.talk("X-Loci-Project", project)
		q.extras = map[string]any{"memory_mode": "read"}
		got, _ := q.says("Do I prefer tea or coffee?")
		s.has("the system message in project "+project, got.says(0), "User prefers tea to coffee")
	}
}

// TestProfilesRecallFactsAlone: designs 1 and 5 search facts, not what was said.
func TestProfilesRecallFactsAlone(t *testing.T) {
	for profile, flags := range map[string]map[string]string{
		"assistant": {"learn.model": "", "learn.prefer": "learner"}, "desktop": nil,
	} {
		s := newStage(t, profile, flags)
		s.model.on("memory_extraction", "NOTHING")
		s.talk().says("The bicycle is in the garage behind the house.")
		q := s.talk()
		q.extras = map[string]any{"memory_mode": "read"}
		if got, _ := q.says("Where is the bicycle?"); len(got.Messages) != 1 {
			t.Errorf("%s recalls what was said: %s", profile, got.body)
		}
		s.remember(nil, "User's bicycle is green")
		s.settle()
		got, _ := q.says("Which colour is the bicycle?")
		s.has(profile, got.says(0), "User's bicycle is green")
		s.lacks(profile, got.says(0), "garage")
		s.has("a search that names turns", s.ok(nil, "POST", "/api/memory/search", `{"query":"Where is the bicycle?","kinds":["turn"]}`), "garage")
	}
}

// TestProfileAssistantLearnsHowToAnswer: how to be answered is a fact like any other.
func TestProfileAssistantLearnsHowToAnswer(t *testing.T) {
	s := newStage(t, "assistant", map[string]string{"learn.model": "", "learn.prefer": "learner"})
	s.model.on("memory_extraction", "User prefers replies in German")
	s.talk().says("Please always answer in German from now on.")
	s.model.on("memory_extraction", "User dislikes long answers")
	s.talk().says("Can you keep it short? I hate long answers.")
	s.wantFacts("", []string{"User prefers replies in German", "User dislikes long answers"})
}

// TestProfileAgentCLIAddsAFactThatOnlyDeletes: where reconciliation adds nothing, the new
// facts are added, those that end a known one too.
func TestProfileAgentCLIAddsAFactThatOnlyDeletes(t *testing.T) {
	s := newStage(t, "agent-cli", map[string]string{"summaries.mode": "off"})
	c := s.talk()
	s.model.on("extract", `{"facts": [{"text": "User loves cheese pizza", "quote": "I love cheese pizza"}]}`)
	c.says("I love cheese pizza.")
	s.clock.pass(time.Hour)
	s.model.on("extract", `{"facts": [{"text": "User dislikes cheese pizza", "quote": "I dislike cheese pizza"}]}`)
	s.model.on("reconcile", `{"decisions": [{"new": 1, "event": "DELETE", "id": "0", "text": "", "reason": "contradicts"}]}`)
	c.says("I dislike cheese pizza.")
	s.wantFacts("", []string{"User dislikes cheese pizza"})
}

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
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
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
