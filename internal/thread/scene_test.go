package thread

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

var update = flag.Bool("update", false, "write what the scenes give into their files")

// TestScenes plays the requests of testdata/*.scene with an empty memory. The indented lines are
// the results; -update writes them.
//
//	ask MESSAGES             a request without an id
//	ask #ID MESSAGES         with one
//	answer MESSAGE           the upstream's reply, recorded
//	at +DURATION             time passes
//	show                     every conversation's path, and the learned messages
func TestScenes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.scene")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenes: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".scene"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(text), got); diff != "" && !*update {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	w := newWorld()
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "ask":
			name := ""
			if strings.HasPrefix(rest, "#") {
				name, rest, _ = strings.Cut(rest[1:], " ")
			}
			msgs := messages(rest)
			w.ask(name, msgs)
			fmt.Fprintf(&out, "  %s\n", w.asked(msgs))
		case "answer":
			r := w.answer(message(rest))
			fmt.Fprintf(&out, "  %s\n", w.answered(r))
		case "at":
			d, err := time.ParseDuration(strings.TrimPrefix(rest, "+"))
			if err != nil {
				t.Fatal(err)
			}
			w.now = w.now.Add(d)
		case "show":
			for _, c := range w.convs {
				fmt.Fprintf(&out, "  path %s: %s\n", c.Conversation.ID, contents(c.path()))
			}
			fmt.Fprintf(&out, "  learned: %s\n", strings.Join(w.learned, " | "))
		case "", "#":
		default:
			t.Fatalf("no such line: %s", line)
		}
		if wrong := w.checkPaths(); wrong != "" {
			t.Errorf("after %q: %s", line, wrong)
		}
	}
	return out.String()
}

func (w *world) asked(msgs []chatapi.Message) string {
	a := w.align
	parts := []string{"conversation " + w.convs[w.conv].Conversation.ID}
	for _, f := range []struct {
		is   bool
		word string
	}{{a.IsRetry, "retry"}, {a.regenerates(), "regenerate"}, {a.branches(), "branch"}, {len(historyIndexes(msgs[chatapi.LastUser(msgs)+1:])) > 0, "tool loop"}} {
		if f.is {
			parts = append(parts, f.word)
		}
	}
	var fresh, old []string
	for _, p := range a.NewTurns {
		if p.IsHistory {
			old = append(old, text(msgs[p.MessageIndex].Role, msgs[p.MessageIndex].Text))
		} else {
			fresh = append(fresh, text(msgs[p.MessageIndex].Role, msgs[p.MessageIndex].Text))
		}
	}
	parts = list(parts, "history", old)
	parts = list(parts, "new", fresh)
	parts = list(parts, "leaves", w.words(a.LeavingIDs))
	parts = list(parts, "comes back", w.words(a.RejoiningIDs))
	return strings.Join(parts, "; ")
}

func (w *world) answered(r AnswerPosition) string {
	parts := []string{"new turn"}
	if r.StoredID != "" {
		parts = []string{"known"}
	}
	if w.offPath {
		parts = append(parts, "beside the path")
	}
	parts = list(parts, "leaves", w.words(r.LeavingIDs))
	parts = list(parts, "comes back", w.words(r.RejoiningIDs))
	return strings.Join(parts, "; ")
}

func list(parts []string, word string, items []string) []string {
	if len(items) == 0 {
		return parts
	}
	return append(parts, word+": "+strings.Join(items, " | "))
}

func (w *world) words(ids []string) []string {
	var out []string
	for _, id := range ids {
		for _, t := range w.convs[w.conv].Turns {
			if t.ID == id {
				out = append(out, text(t.Role, t.Content))
			}
		}
	}
	return out
}

func contents(turns []memory.Turn) string {
	var out []string
	for _, t := range turns {
		out = append(out, text(t.Role, t.Content))
	}
	return strings.Join(out, " | ")
}

func text(role memory.Role, words string) string {
	return strings.TrimSpace(strings.ToUpper(string(role[:1])) + " " + words)
}
