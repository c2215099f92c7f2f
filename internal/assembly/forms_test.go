package assembly

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// form is a request in which a message of the user's holds words of somebody else's.
type form struct {
	Form         string
	Messages     json.RawMessage
	Own, Foreign string
}

// formsIn reads forms, a line each.
func formsIn(t *testing.T, path string) (out []form) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip("no forms of messages: ", err)
	}
	for line := range bytes.Lines(data) {
		var f form
		noError(t)(json.Unmarshal(line, &f))
		out = append(out, f)
	}
	return out
}

// TestForeignWordsInForms sends each form of message as a person of its own: what somebody else wrote
// is not learned and does not come back, and what the person says is learned.
//
// Promise: what somebody else wrote teaches nothing about the person.
func TestForeignWordsInForms(t *testing.T) {
	shared := os.Getenv("LOCI_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	files := []string{"testdata/forms.jsonl", filepath.Join(shared, "data/forms.jsonl")}
	if more := os.Getenv("LOCI_FORMS"); more != "" {
		files = append(files, more)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			s := newStage(t, "default", map[string]string{"learn.model": "none"})
			shown := 0
			for i, f := range formsIn(t, file) {
				who := []string{"X-Loci-User", fmt.Sprint("person", i)}
				s.ok(nil, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"chatter","messages":%s}`, f.Messages), who...)
				s.settle()
				facts := strings.Join(s.facts("", who...), "\n") + strings.Join(s.facts("&status=pending", who...), "\n")
				for foreign := range strings.SplitSeq(f.Foreign, ". ") {
					if words := strings.Fields(foreign); len(words) > 0 && strings.Contains(facts, strings.Trim(words[len(words)-1], ".")) {
						t.Errorf("%s teaches %q", f.Form, facts)
					}
				}
				if strings.Contains(f.Own, "cat named Tom") && !strings.Contains(string(f.Messages), `"assistant"`) && !strings.Contains(facts, "Tom") { // what has an answer is history
					t.Errorf("%s: the cat is not learned: %q", f.Form, facts)
				}
				asked, _ := s.talk(who...).says("Where do I live, and what is my dog called?")
				for line := range strings.SplitSeq(asked.body, `\n`) {
					if strings.Contains(line, " user said: ") && strings.Contains(line, "Graz") {
						shown++
						t.Logf("%s comes back: %s", f.Form, line)
					}
				}
			}
			if shown > 0 {
				t.Errorf("%d come back as the person's words", shown)
			}
		})
	}
}

// TestWordsThatLociPassedOnAreNotThePersons: an agent's answer is the next one's message, after a
// restart too; and who quotes an answer to correct it is heard.
func TestWordsThatLociPassedOnAreNotThePersons(t *testing.T) {
	const answer = "I am Mr Brandt. I live in Graz. My dog is called Fido."
	dir, ana := t.TempDir(), []string{"X-Loci-User", "ana"}
	for _, when := range []string{"at once", "after a restart"} {
		t.Run(when, func(t *testing.T) {
			s := newStage(t, "default", map[string]string{"learn.model": "none", "store": "sqlite", "data": dir})
			if when == "at once" {
				s.model.reply = answer
				s.talk(ana...).says("Who are you?")
				s.model.reply = "OK."
			}
			s.talk(ana...).says(answer)
			s.wantFacts("", nil, ana...)
			asked, _ := s.talk(ana...).says("Where do I live?")
			s.lacks("the prompt", asked.body, "user said: I am Mr Brandt")
			if when == "after a restart" {
				s.talk(ana...).says("You said: " + answer + " But I live in Porto.")
				s.wantFacts("", []string{"User lives in Porto"}, ana...)
			}
		})
	}
}
