package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// askedScene is a scene of testdata/empty-*.txt or testdata/reasons-*.txt.
type askedScene struct {
	name     string
	question string
	first    string   // what the first hit has
	some     string   // what some hit has
	not      []string // turns that must not be hits
	rig      *rig
	chat     int
	turn     string // id of the user's last turn
}

// small is other talk in the memory of each scene.
var small = []string{
	"I repotted the ferns today.|Ferns like that in spring.", "What goes well with rye bread?|Butter, cheese or smoked fish.",
	"We saw a heron at the canal.|They are patient hunters.", "Translate good night to Dutch|Goedenacht.",
	"My keyboard has a sticky space bar.|Compressed air may help.", "Can you write a limerick about socks?|There once was a sock in a drawer ...",
	"I am reading a book about lighthouses.|Which part of it do you like most?", "how many grams is a cup of flour|About 120 grams.",
	"The neighbours painted their fence purple.|A bold choice!", "The choir rehearses in the old fire station.|That must have a nice echo.",
}

func readAsked(t *testing.T, file string) (scenes []*askedScene) {
	t.Helper()
	data := try(os.ReadFile(file)).orFail(t)
	var s *askedScene
	for _, line := range strings.Split(string(data), "\n") {
		if name, ok := strings.CutPrefix(line, "scene "); ok {
			s = &askedScene{name: name, rig: newRig(t, stores["inmem"])}
			for i, said := range small {
				user, assistant, _ := strings.Cut(said, "|")
				s.rig.tell(t, fmt.Sprint("other ", i), exchange.Message{Role: memory.RoleUser, Content: user}, exchange.Message{Role: memory.RoleAssistant, Content: assistant})
			}
			scenes = append(scenes, s)
			continue
		}
		if s != nil {
			s.read(t, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return scenes
}

func (s *askedScene) read(t *testing.T, line string) {
	t.Helper()
	hidden := strings.HasPrefix(line, "~")
	kind, words, _ := strings.Cut(strings.TrimPrefix(line, "~"), " ")
	if hidden {
		s.not = append(s.not, words)
	}
	switch kind {
	case "u:", "a:":
		said := exchange.Message{Role: memory.RoleUser, Content: words}
		if kind == "a:" {
			said.Role = memory.RoleAssistant
		}
		kept := try(s.rig.Exchange.Ingest(context.Background(), ana, exchange.IngestRequest{Conversation: fmt.Sprint("chat ", s.chat), Messages: []exchange.Message{said}})).orFail(t)
		if kind == "u:" {
			s.turn = kept.TurnIDs[0]
		}
	case "f:":
		f := memtest.Fact(ana, words)
		f.ID, f.Trust, f.Source, f.ObservedAt = core.NewID(), memory.TrustUser, memory.Extracted, s.rig.clock.Now()
		f.CreatedAt, f.UpdatedAt, f.Provenance = f.ObservedAt, f.ObservedAt, memory.Provenance{Turns: []string{s.turn}}
		noError(t)(s.rig.Store.Apply(context.Background(), ana, memory.Run{ID: core.NewID(), Kind: "learn"}, memory.Change{Action: memory.ActionAdd, After: memory.State{Fact: &f}, NewID: f.ID}))
	case "--":
		s.chat++
	case "?":
		s.question = words
	case "=":
		s.first = words
	case "+":
		s.some = words
	}
}

// wrong says what of a scene is not as it should be.
func (s *askedScene) wrong() (out []string) {
	got := contents(s.rig.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: ana}, Text: s.question}).Hits)
	has := func(words string) func(string) bool {
		return func(hit string) bool { return strings.Contains(strings.ToLower(hit), strings.ToLower(words)) }
	}
	if s.first != "" && (len(got) == 0 || !has(s.first)(got[0])) {
		out = append(out, fmt.Sprintf("%q is not in the first", s.first))
	}
	if s.some != "" && !slices.ContainsFunc(got, has(s.some)) {
		out = append(out, fmt.Sprintf("%q is in none", s.some))
	}
	for _, not := range s.not {
		if slices.Contains(got, not) {
			out = append(out, fmt.Sprintf("%q is among them", not))
		}
	}
	if len(out) > 0 {
		out = append(out, fmt.Sprintf("asked %q, got %q", s.question, got))
	}
	return out
}

// playAsked plays the scenes of a file, of which at most some may be wrong.
func playAsked(t *testing.T, file string, most int) {
	t.Helper()
	scenes, wrong := readAsked(t, filepath.Join("testdata", file)), 0
	for _, s := range scenes {
		if said := s.wrong(); len(said) > 0 {
			wrong++
			t.Logf("%s: %s", s.name, strings.Join(said, "; "))
		}
	}
	t.Logf("%s: %d of %d scenes as they should be", file, len(scenes)-wrong, len(scenes))
	if len(scenes) == 0 || wrong > most {
		t.Errorf("%s: %d of %d scenes are wrong, want at most %d", file, wrong, len(scenes), most)
	}
}

// TestEmptyTalkIsNoMemory: most of what only asks, and of replies that deny, give back or pass, is not shown, and the
// fact comes first.
func TestEmptyTalkIsNoMemory(t *testing.T) {
	playAsked(t, "empty-developed.txt", 3)
	playAsked(t, "empty-aside.txt", 3)
}

// TestAFactHidesNoReason: a turn is shown beside its fact where it says more about the question.
func TestAFactHidesNoReason(t *testing.T) {
	playAsked(t, "reasons-developed.txt", 2)
	playAsked(t, "reasons-aside.txt", 1)
}

// TestQuestionsAreKeptBySetting: a profile whose design shows what was asked before gets it.
func TestQuestionsAreKeptBySetting(t *testing.T) {
	r := newRig(t, stores["inmem"])
	const asked, denied = "Where does my brother Olaf live?", "I don't know where your brother Olaf lives."
	r.tell(t, "a", exchange.Message{Role: memory.RoleUser, Content: asked}, exchange.Message{Role: memory.RoleAssistant, Content: denied})
	for _, keep := range []bool{true, false} {
		r.Opts.Recall.RecallQuestions = keep
		got := contents(r.find(t, retrieve.Question{Text: "So where does my brother Olaf live?"}).Hits)
		if slices.Contains(got, asked) != keep || slices.Contains(got, denied) != keep {
			t.Errorf("kept %v: %q", keep, got)
		}
	}
}
