package loci

import (
	"testing"
	"time"
)

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
