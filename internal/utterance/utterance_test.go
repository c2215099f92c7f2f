package utterance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// shownRow is a line of wrappers.jsonl with its example.
type shownRow struct {
	wrapperMarker
	Client string // and its version
	Source string // "recorded", or where it was read, "not run"
	Shows  string // a message
	Leaves string // what of it is the person's
}

func shown(t testing.TB) (out []shownRow) {
	for line := range bytes.Lines(wrappers) {
		var r shownRow
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestRowsDoWhatTheyShow runs each row's own message.
func TestRowsDoWhatTheyShow(t *testing.T) {
	for _, r := range shown(t) {
		if r.Client == "" || r.Source == "" || r.Shows == "" || r.Text == "" {
			t.Errorf("%+v lacks client, source, mark or message", r)
		}
		if r.Form == "task" {
			if !IsClientTask(r.Shows) {
				t.Errorf("%s: not taken for a task: %q", r.Client, r.Shows)
			}
			continue
		}
		if r.Form == "subagent" {
			if !IsFromSubagent(r.Shows) {
				t.Errorf("%s: not taken for a sub-agent's: %q", r.Client, r.Shows)
			}
			continue
		}
		if r.Form == "folder" {
			if got := WorkingDirectory(r.Shows); got != r.Leaves {
				t.Errorf("%s: in %q the folder is %q, want %q", r.Client, r.Shows, got, r.Leaves)
			}
			continue
		}
		if got := WithoutWrappers(r.Shows); got != r.Leaves {
			t.Errorf("%s: of %q\ngot  %q\nwant %q", r.Client, r.Shows, got, r.Leaves)
		}
	}
}

// TestWordsOfAPersonStay: text about a wrapper is no wrapper.
func TestWordsOfAPersonStay(t *testing.T) {
	for _, s := range []string{
		"", "   ", "hi", "I live in Rome.\n\nAnd I have a cat.",
		"What does <system-reminder> mean in this log?",
		"Why is my AGENTS.md not read? It begins with # AGENTS.md instructions for",
		"### Task:\nWrite a haiku about the sea.",
		"I said \"never\" and she said \"always\"",
		"<b>bold</b> claims: I am allergic to peanuts",
		"# My plan\n- run\n- swim",
		"if a < b && b > c { return }",
		"[1] Result: we won, and I live in Rome",
		"<summary>\nMy year in Rome\n</summary>\nIs this a good summary?",
		"<context>\nI live in Rome\n</context>\nWhere do I live?",
		"Summarize the conversation for future reference.",
		"Validation Error found:\nI typed my age, 41, into the form. What does it want?",
		"Validation feedback:\nthe plan is good, and I live in Rome",
		"2 validation errors:\n```json\n{}\n```\nWhat are these?",
		"TOOL RESPONSE: what is that in my log?",
		"Prompt:\nA cat in a hat, as my daughter Ada would paint it",
		"Error while parsing the output: why do I get this?",
		"My day\nThought: I should call my mother.",
	} {
		if got := WithoutWrappers(s); got != s {
			t.Errorf("of %q only %q is left", s, got)
		}
		if IsClientTask(s) {
			t.Errorf("%q is taken for a task", s)
		}
		if IsFromSubagent(s) {
			t.Errorf("%q is taken for a sub-agent's", s)
		}
	}
}

func TestSeveralWrappersInOneMessage(t *testing.T) {
	const environment = "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>"
	const agents = "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
	for message, want := range map[string]string{
		agents + "\n" + environment:                                 "",
		environment + "\n" + environment + "\nI live in Rome.":      "I live in Rome.",
		environment + "\nI live in Rome.\n" + environment:           "I live in Rome.",
		"<environment_context>\nnever closed\nI live in Rome.":      "<environment_context>\nnever closed\nI live in Rome.",
		`"I live in Rome."`:                                         "I live in Rome.",
		"I live in Rome.\n<system-reminder>a</system-reminder>\nOK": "I live in Rome.\n\nOK",
		"[x] Result:\n<answer>\nI live in Oslo.\n</answer>":         "I live in Oslo.",
		"[read_file for 'a'] Result:\nx\n<answer>\nno\n</answer>":   "",
		"[x] Result:\n<feedback>\nnever closed":                     "",
		"<task>\nI live in Rome.\n</task> now":                      "I live in Rome.\nnow",
	} {
		if got := WithoutWrappers(message); got != want {
			t.Errorf("of %q\ngot  %q\nwant %q", message, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, r := range shown(f) {
		f.Add(r.Shows)
	}
	f.Add("<task><task></task>")
	f.Fuzz(func(t *testing.T, s string) {
		if got := WithoutWrappers(s); len(got) > len(s) {
			t.Errorf("of %q more is left: %q", s, got)
		}
		IsClientTask(s)
	})
}

// TestFolderIsAnAbsolutePath: a line without an absolute path names no folder.
func TestFolderIsAnAbsolutePath(t *testing.T) {
	for message, want := range map[string]string{
		"Working directory: /srv/app/":                                 "/srv/app",
		"  - Working directory: C:\\Users\\ana\\app":                   "C:\\Users\\ana\\app",
		"Working directory: /srv/my app\nPlatform: linux":              "/srv/my app",
		"Working directory: /srv/app\n  Workspace root folder: /":      "/srv/app", // outside a repository
		"Working directory: app":                                       "",
		"Working directory: ":                                          "",
		"Working directory: /":                                         "",
		"Set the working directory: /srv/app":                          "",
		"Keep to the rule. Working directory: /srv/app is meant here.": "",
		"<cwd>/srv/app":                                                "",
		"<cwd>/srv/app\n</cwd>":                                        "",
		"Working directory: /" + strings.Repeat("a", maxPathBytes):     "",
	} {
		if got := WorkingDirectory(message); got != want {
			t.Errorf("in %q the folder is %q, want %q", message, got, want)
		}
	}
}
