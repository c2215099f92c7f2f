package learn

import (
	"testing"

	"github.com/loci-memory/loci/internal/extract"
)

func TestFactsOfProjects(t *testing.T) {
	for _, c := range []struct {
		fact, category, subject, quote string
		want                           bool
	}{
		{"User's API is named Halyard", "", "user", "our API is called Halyard", true},
		{"User deploys to Fly.io", "preference", "user", "We deploy to Fly.io", true},
		{"This project uses Go 1.24", "", "", "This project uses Go 1.24", true},
		{"The API speaks gRPC", "project", "API", "The API speaks gRPC", true},
		{"Das Team nutzt Jira", "work", "team", "Unser Team nutzt Jira", true},
		{"L'API s'appelle Halyard", "work", "API", "Notre API s'appelle Halyard", true},
		{"User likes the app", "preference", "user", "I like the app", false},
		{"User uses zsh", "preference", "user", "I use zsh", false},
		{"User is working on a novel", "project", "user", "I'm working on a novel", false},
		{"User's daughter is named Eva", "family", "user", "Our daughter is called Eva", false},
		{"User lives in Porto", "home", "user", "We live in Porto", false},
		{"User flies to the US in May", "plan", "user", "I fly to the US in May", false},
		{"User wants Redis", "goal", "user", "the client wants us to use Redis", true},
		{"Eva works at Acme", "work", "Eva", "Eva works at Acme", false},
	} {
		if got := IsProjectFact(extract.Candidate{Text: c.fact, Category: c.category, Subject: c.subject}, c.quote); got != c.want {
			t.Errorf("%q from %q: of the project %v, want %v", c.fact, c.quote, got, c.want)
		}
	}
}
