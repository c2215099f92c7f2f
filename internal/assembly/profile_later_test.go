package assembly

import (
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
)

// TestWhoLearnsIsTheSameInEitherOrderOfStarts: the upstream first, or Loci first, whose upstream then
// comes with the profile's model, with others alone, or not at all.
func TestWhoLearnsIsTheSameInEitherOrderOfStarts(t *testing.T) {
	const away, others = "the learning model's server does not list its models", "the server lists none of the wanted models: mistral-small-latest, mistral-small"
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
				s := newStageBefore(t, &scripted{models: c.models, away: !first}, "openwebui", map[string]string{"learn.model": "auto", "embedder": "lexical"})
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

// TestWhatEmbedsIsTheSameInEitherOrderOfStarts: the upstream first, or Loci first, whose upstream then
// comes with the profile's embedder, without one, or not at all.
func TestWhatEmbedsIsTheSameInEitherOrderOfStarts(t *testing.T) {
	const away = "the upstream does not answer, so Loci does not know whether it has remote:mistral-embed"
	ana := []string{"X-OpenWebUI-User-Id", "ana"}
	for name, c := range map[string]struct {
		dims     int
		never    bool
		embedder string
	}{
		"the profile's embedder": {24, false, "remote:mistral-embed"},
		"none":                   {0, false, "lexical"},
		"away for ever":          {0, true, "remote:mistral-embed"},
	} {
		for _, first := range []bool{true, false} {
			if first && c.never {
				continue
			}
			t.Run(name, func(t *testing.T) {
				s := newStageBefore(t, &scripted{dims: c.dims, away: !first}, "openwebui")
				if !first {
					s.has("/health", s.ok(nil, "GET", "/health", ""), `"embedder":"remote:mistral-embed"`, away)
					s.has("the doctor", s.ok(nil, "GET", "/api/doctor", ""), `"part":"embedder"`, away)
					s.has("the log", s.log.String(), "WARN", away)
					s.remember(ana, "User likes tea")
				}
				s.model.becomes(func(m *scripted) { m.away = c.never })
				s.remember(ana, "User is allergic to peanuts")
				search := func() (found client.SearchAnswer) {
					s.ok(&found, "POST", "/api/memory/search", `{"query":"User is allergic to peanuts","explain":true}`, ana...)
					return found
				}
				byVector := func(found client.SearchAnswer) bool {
					return len(found.Hits) > 0 && found.Hits[0].Why.Get("vector") != 0
				}
				found := search()
				for until := time.Now().Add(10 * time.Second); !c.never && !byVector(found) && time.Now().Before(until); found = search() {
					s.settle()
					s.clock.pass(time.Minute) // a job that found the upstream away rests
				}
				if len(found.Hits) == 0 || found.Hits[0].Content != "User is allergic to peanuts" || byVector(found) == c.never {
					t.Errorf("found %+v", found.Hits)
				}
				health, doctor := s.ok(nil, "GET", "/health", ""), s.ok(nil, "GET", "/api/doctor", "")
				s.has("/health", health, `"embedder":"`+c.embedder+`"`)
				threshold := `"threshold":0.8`
				if c.embedder == "lexical" {
					threshold = `"threshold":0.02`
					s.has("/health", health, "loci models pull")
				}
				s.has("/health", health, threshold)
				if c.never {
					s.has("/health", health, away)
				} else {
					s.lacks("/health", health, away)
					s.lacks("the doctor", doctor, `"part":"embedder"`)
				}
			})
		}
	}
}
