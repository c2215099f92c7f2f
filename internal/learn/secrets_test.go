package learn

import (
	"slices"
	"strings"
	"testing"
)

var allForms = slices.Concat(secretForms, personalForms)

// passedOver reports the forms that s has and their needs say it has not.
func passedOver(t *testing.T, s string) {
	t.Helper()
	traits := traitsOf(s)
	for _, form := range allForms {
		if found := form.find(s); len(found) > 0 && !form.needs.in(&traits) {
			t.Errorf("%q holds a %s, which is passed over", s, form.name)
		}
	}
}

func TestNoSecretIsPassedOver(t *testing.T) {
	examples := []string{
		"-----BEGIN RSA PRIVATE KEY-----\nabc", "sk-proj-abcdefgh12345678", "pk_live_abcdefgh12345678", "AKIAABCDEFGHIJKLMNOP",
		"AIza" + strings.Repeat("x", 30), "hf_abcdefgh12345678", "glpat-abcdefgh12345678", "ghp_" + strings.Repeat("a", 20),
		"github_pat_" + strings.Repeat("a", 20), "xoxb-abcdefghij", "eyJabcdefgh.abcdefgh.x", "BEARER abcdefgh12345678",
		"ftp://me:word@host", "Password: hunter2", "PIN is 1234", "my api key = abcdefgh1234", "4111 1111 1111 1111",
		"ana@example.org", "DE89 3704 0044 0532 0130 00", "123-45-6789", "+49 170 1234567", "(555) 123-4567",
		"Paſſword: hunter2", "toKen: abcdefgh1234", "ſecret: abcdefgh1234", "api Key: abcdefgh1234",
	}
	named := map[string]bool{}
	for _, s := range examples {
		passedOver(t, s)
		for _, f := range secrets(s, true) {
			named[f.name] = true
		}
	}
	for _, form := range allForms {
		if !named[form.name] {
			t.Errorf("no example has a %s", form.name)
		}
	}
}

func FuzzSecretNeeds(f *testing.F) {
	f.Add("PIN code is 1234")
	f.Add("the toKen: abcdefgh1234")
	f.Fuzz(passedOver)
}

func BenchmarkRedact(b *testing.B) {
	const question = "What did I say about the trip to Lisbon in 2024?"
	b.Run("question", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Redact(question, false)
		}
	})
	b.Run("every form tried", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range secretForms {
				secretForms[i].find(question)
			}
		}
	})
}
