package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPlainWordsRememberForgetAndTell(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*pupil{"with a model": {}, "by rule": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			settings := []string{up.setting()}
			if up.pupil = p; p != nil {
				settings = up.learning()
			}
			l := serve(t, t.TempDir(), settings...)
			l.tell(t, "Remember that my locker number is 4711.")
			l.tell(t, "Please remember that I never eat mushrooms.")
			facts := l.facts(t, nil)
			if len(facts) != 2 || !strings.Contains(contents(facts), "4711") || !strings.Contains(contents(facts), "mushrooms") {
				t.Fatalf("both had to be remembered:%s\nloci said:\n%s", contents(facts), l.log)
			}
			c := chat{client: l.sdk()}
			c.say(t, "What do you know about me?")
			if block := blockOf(t, up.last(t).Body); !strings.Contains(block, "4711") || !strings.Contains(block, "mushrooms") {
				t.Errorf("what is known had to be told: %s", block)
			}

			l.tell(t, "Forget my locker number.")
			facts = l.facts(t, nil)
			if len(facts) != 1 || strings.Contains(contents(facts), "4711") {
				t.Errorf("the locker number had to be forgotten:%s\nloci said:\n%s", contents(facts), l.log)
			}
			again := chat{client: l.sdk()}
			again.say(t, "What is my locker number?")
			if block := blockOf(t, up.last(t).Body); strings.Contains(block, "4711") {
				t.Errorf("what was forgotten was told: %s", block)
			}

			if undone := l.command(t, "undo", "--yes"); !strings.Contains(undone, "4711") {
				t.Errorf("forgetting can be undone:\n%s", undone)
			}
			if facts := l.facts(t, nil); !strings.Contains(contents(facts), "4711") {
				t.Errorf("after undo the number had to be known again:%s", contents(facts))
			}
		})
	}
}

func TestForgettingReachesSummaries(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*pupil{"with a model": life(), "by rule": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			settings := []string{up.setting()}
			if up.pupil = p; p != nil {
				settings = up.learning()
			}
			l := serve(t, t.TempDir(), append(settings, "LOCI_SUMMARIES_MODE=on", "LOCI_SUMMARIES_EVERY=2")...)
			c := chat{client: l.sdk()}
			for _, said := range []string{allergy, "I live in Berlin.", "I work as a nurse.", "Good night!"} {
				c.say(t, said)
			}
			summary := func() string { return contents(l.memories(t, "summary", nil)) }
			eventually(t, l, "a summary of it all", patience, func() bool { return strings.Contains(summary(), "nurse") })
			l.settle(t, nil, patience)
			if !strings.Contains(summary(), "peanuts") {
				t.Fatalf("the summary had to have the allergy:%s", summary())
			}
			l.tell(t, "Forget that I am allergic to peanuts.")
			if facts := l.facts(t, nil); strings.Contains(contents(facts), "peanuts") {
				t.Fatalf("the allergy had to be forgotten:%s", contents(facts))
			}
			if strings.Contains(summary(), "peanuts") {
				t.Errorf("it is still in the summary:%s", summary())
			}
			eventually(t, l, "the summary to be written anew", patience, func() bool { return strings.Contains(summary(), "nurse") })
			if strings.Contains(summary(), "peanuts") {
				t.Errorf("it came back into the summary:%s", summary())
			}
			again := chat{client: l.sdk()}
			again.say(t, "What do you know about me?")
			if block := blockOf(t, up.last(t).Body); strings.Contains(block, "peanuts") {
				t.Errorf("what was forgotten was told: %s", block)
			}
		})
	}
}

func TestPromptsOfOnesOwnAreSent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "prompts")
	if out, err := exec.Command(binary, "prompts", "eject", dir).CombinedOutput(); err != nil {
		t.Fatalf("eject: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "extract.md")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const mine = "Above all write down what this person collects."
	changed := strings.Replace(string(source), "\nNothing from questions", "\n"+mine+"\nNothing from questions", 1)
	if changed == string(source) {
		t.Fatalf("extract.md has no rules:\n%s", source)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p := life()
	l := serve(t, t.TempDir(), teach(t, p).learning("LOCI_PROMPTS="+dir)...)
	l.tell(t, allergy)
	if lessons := p.lessons("extract"); len(lessons) == 0 || !strings.Contains(lessons[0].System, mine) {
		t.Errorf("the prompt had to have %q: %+v", mine, lessons)
	}
	l.stop(t)

	if err := os.WriteFile(file, []byte(strings.ReplaceAll(changed, "{{NOW}}", "{{TOMORROW}}")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--set", "prompts="+dir)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !regexp.MustCompile(`extract\.md:\d+`).Match(out) || !strings.Contains(string(out), "TODAY") {
		t.Errorf("a broken prompt has to stop the start with file, line and what is valid; it ended with %v:\n%s", err, out)
	}
}

// TestWhatMemorySaidNeverBecomesMemory has a model that repeats what it is told, a
// client that sends it back, and a learning model that believes every line.
func TestWhatMemorySaidNeverBecomesMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pupil     *pupil
		assistant string
	}{
		"by rule":                        {nil, "false"},
		"by rule, from answers too":      {nil, "true"},
		"with a model":                   {&pupil{believes: true}, "false"},
		"with a model, from answers too": {&pupil{believes: true}, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			up.at[chatPath] = repeats
			settings := []string{up.setting(), "LOCI_LEARN_ASSISTANT=" + test.assistant}
			if up.pupil = test.pupil; up.pupil != nil {
				settings = append(settings, "LOCI_LEARN_MODEL="+pupilModel, "LOCI_LEARN_TRUST=always", "LOCI_LEARN_EVERY=1")
			}
			data := t.TempDir()
			l := serve(t, data, settings...)
			for _, fact := range []string{allergyFact, "User lives in Lisbon", "User works as a nurse"} {
				l.add(t, fact, nil)
			}
			known := l.facts(t, nil)
			for i := range 60 / 4 {
				if i > 0 && i%5 == 0 {
					l.stop(t)
					l = serve(t, data, settings...)
				}
				// Four chats: two ask, two send back what they were told.
				c := chat{client: l.sdk()}
				told := c.say(t, "What do you know about me?").Choices[0].Message.Content
				if !strings.Contains(told, "peanuts") {
					t.Fatalf("the upstream had to repeat what is known: %q", told)
				}
				c.say(t, "You told me this:\n"+told)
				other := chat{client: l.sdk()}
				other.say(t, "Yesterday you wrote: "+told+"\nWhere do I live?")
				third := chat{client: l.sdk()}
				third.history = append(third.history, other.history[0], other.history[1])
				third.say(t, "And my work?")
				fourth := chat{client: l.sdk()}
				fourth.say(t, told)
				l.settle(t, nil, patience)
			}
			facts := l.memories(t, "fact", nil)
			for _, f := range facts {
				if !slices.ContainsFunc(known, func(k remembered) bool { return k.ID == f.ID && k.Content == f.Content }) {
					t.Errorf("nobody told it but memory itself: %s", f.Content)
				}
			}
			if len(facts) != len(known) {
				t.Errorf("there were %d facts and there are %d:%s", len(known), len(facts), contents(facts))
			}
			for i, f := range facts {
				if f.UpdatedAt != known[i].UpdatedAt {
					t.Errorf("what memory said made a fact surer: %s", f.Content)
				}
			}
			if test.pupil == nil {
				return
			}
			for _, lesson := range test.pupil.lessons("extract") {
				for _, turn := range turnsIn(lesson.User) {
					if strings.Contains(turn.text, "peanuts") {
						t.Fatalf("the model that learns was given what memory said:\n%s", lesson.User)
					}
				}
			}
		})
	}
}

// repeats answers with every fact of memory that the request has.
func repeats(w http.ResponseWriter, r *http.Request, body []byte) {
	told := "I know nothing."
	for _, line := range regexp.MustCompile(`- (?:[\d-]+ \w+ (?:User|You)|(is|lives|works)) [^\\\[]+`).FindAllStringSubmatch(string(body), -1) {
		words := strings.TrimPrefix(line[0], "- ")
		if line[1] != "" { // it stands in what a conversation begins with
			words = "User " + words
		} else {
			_, words, _ = strings.Cut(words[len("2006-01-02 "):], " ")
		}
		told += "\n- " + strings.TrimSpace(words)
	}
	says(strings.TrimPrefix(told, "I know nothing.\n"))(w, r, body)
}

func TestWhatWasForgottenIsNotLearnedFromOldAnswers(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*pupil{"with a model": {believes: true}, "by rule": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			up.at[chatPath] = repeats
			settings := []string{up.setting()}
			if up.pupil = p; p != nil {
				settings = up.learning()
			}
			data := t.TempDir()
			l := serve(t, data, settings...)
			l.add(t, allergyFact, nil)
			c := chat{client: l.sdk()}
			told := c.say(t, "What do you know about me?").Choices[0].Message.Content
			if !strings.Contains(told, "peanuts") {
				t.Fatalf("the upstream had to repeat what is known: %q", told)
			}
			l.tell(t, "Forget that I am allergic to peanuts.")
			l.tell(t, "Yesterday you wrote:\n"+told)
			l.stop(t)
			l = serve(t, data, settings...)
			l.tell(t, "Once you wrote:\n"+told)
			if facts := l.facts(t, nil); len(facts) > 0 {
				t.Errorf("it was forgotten, and only memory has said it since:%s", contents(facts))
			}
			l.prints(t, "review --list", "no facts wait for review")
		})
	}
}
