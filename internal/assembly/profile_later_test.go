package assembly

import (
	"testing"
	"time"
)

// TestWhoLearnsIsTheSameInEitherOrderOfStarts: the upstream first, or Loci first, whose upstream then
// comes with the profile's model, with others alone, or not at all.
func TestWhoLearnsIsTheSameInEitherOrderOfStarts(t *testing.T) {
	const away, others = "the server of the model that learns does not list its models", "the server lists none of: mistral-small-latest, mistral-small"
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	for name, c := range map[string]struct {
		models []string
		never  bool   // it does not come
		wrong  string // what is told of it
	}{
		"the profile's model": {[]string{"mistral-small:latest"}, false, ""},
		"others alone":        {[]string{"llama3.2"}, false, others},
		"away for ever":       {nil, true, away},
	} {
		for _, first := range []bool{true, false} {
			if first && c.never {
				continue
			}
			t.Run(name, func(t *testing.T) {
				s := newStageBefore(t, &scripted{models: c.models, away: !first}, "openwebui", map[string]string{"learn.model": "auto"})
				tells := func(wrong string) {
					t.Helper()
					health, doctor := s.ok(nil, "GET", "/health", ""), s.ok(nil, "GET", "/api/doctor", "")
					if wrong == "" {
						s.has("/health", health, `"learns":"mistral-small:latest"`)
						s.lacks("the doctor", doctor, "learn.model")
						return
					}
					s.has("/health", health, `"learns":"no model yet (`+wrong, `"warnings":["`+wrong)
					s.has("the doctor", doctor, `"part":"learn.model","what":"`+wrong)
				}
				if !first {
					tells(away)
					s.has("the log", s.log.String(), "no model yet", away)
				}
				s.model.becomes(func(m *scripted) { m.away = c.never })
				if c.wrong == "" {
					s.model.on("memory_formation", `{"memories": ["User likes figs"]}`)
				}
				s.talk(ana...).says("I like figs.")
				tells(c.wrong)
				if c.wrong == "" {
					s.wantFacts("", []string{"User likes figs"}, ana...)
					return
				}
				s.wantFacts("", nil, ana...)
				for range 7 { // retries, and then rules
					s.clock.pass(10 * time.Minute)
					s.settle()
				}
				s.wantFacts("", []string{"User likes figs"}, ana...)
				s.model.becomes(func(m *scripted) { m.away, m.models = false, []string{"mistral-small:latest"} })
				s.model.on("memory_formation", `{"memories": ["User lives in Lisbon"]}`)
				s.talk(ana...).says("I moved, to Lisbon this time.")
				tells("")
				s.wantFacts("", []string{"User likes figs", "User lives in Lisbon"}, ana...)
			})
		}
	}
}

// TestAModelThatItsServerDropsIsReplaced by the next that the profile names, without a restart.
func TestAModelThatItsServerDropsIsReplaced(t *testing.T) {
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	s := newStageBefore(t, &scripted{models: []string{"mistral-small-latest", "mistral-small"}}, "openwebui", map[string]string{"learn.model": "auto"})
	s.model.becomes(func(m *scripted) { m.models = []string{"mistral-small"} })
	s.talk(ana...).says("I like figs.") // it refuses what has no line
	s.model.on("memory_formation", `{"memories": ["User likes figs"]}`)
	s.clock.pass(time.Minute)
	s.settle()
	s.wantFacts("", []string{"User likes figs"}, ana...)
	s.has("/health", s.ok(nil, "GET", "/health", ""), `"learns":"mistral-small"`)
	asked := s.model.taken("memory_formation")
	s.has("the first", asked[0].body, `"model":"mistral-small-latest"`)
	s.has("the last", asked[len(asked)-1].body, `"model":"mistral-small"`)
}
