package assembly

import (
	"testing"
)

// TestAModelThatFailsItsTrialIsNamed: the rules learn, what it writes waits, and the health, the doctor,
// the page and the log say so, without the server's address.
func TestAModelThatFailsItsTrialIsNamed(t *testing.T) {
	s := newStage(t, "default", map[string]string{"learn.trust": "tried", "learn.every": "1"})
	s.model.on("extract", `{"ops":[{"op":"add","ids":[],"text":"User's nephew Ozwick plays the zither","quote":"my nephew Ozwick plays the zither","about":"Ozwick","lasting":true}]}`)
	s.model.on("extract", `{"ops":[{"op":"add","ids":[],"text":"User collects old maps","quote":"those old maps of mine","about":"user","lasting":true}]}`)
	s.talk().says("I live in Lisbon, with those old maps of mine.")
	s.wantFacts("", []string{"User lives in Lisbon"})
	const says = "hat the model learner learns waits for review, for in its trial it found 0 of 4 facts and 0 that nobody stated"
	s.has("/health", s.ok(nil, "GET", "/health", ""), "w"+says)
	s.has("the doctor", s.ok(nil, "GET", "/api/doctor", ""), `"part":"learn.trust","what":"w`+says, "its last reply took")
	s.has("the page", s.ok(nil, "GET", "/settings", ""), "w"+says, "loci models try")
	s.has("the log", s.log.String(), "w"+says)
	s.wantFacts("&status=pending", []string{"User collects old maps"})
}
