package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/lessons"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// applicant is a model that is tried before it learns.
type applicant struct {
	at             string // its endpoint
	trial          string // what it replies to the trial
	away           error  // why it does not
	ops            []string
	trials, learns int
	sizes          []int // messages of each lesson
	silentFor      int   // it is silent for more messages than these; 0: never
	asked          func(context.Context)
}

func (m *applicant) Endpoint() string { return m.at }

func (m *applicant) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	if strings.Contains(p.User, "Max Power") {
		m.trials++
		return memory.Reply{Text: m.trial, Model: "m"}, m.away
	}
	m.learns++
	_, turns, _ := strings.Cut(p.User, "The turns:")
	n := strings.Count(turns, "] user")
	m.sizes = append(m.sizes, n)
	if m.asked != nil {
		m.asked(ctx)
	}
	if ctx.Err() != nil {
		return memory.Reply{}, context.Cause(ctx)
	}
	if m.silentFor > 0 && n > m.silentFor {
		return memory.Reply{}, memory.Errorf(memory.Unavailable, "silent: %w", context.DeadlineExceeded)
	}
	return memory.Reply{Text: `{"ops":[` + strings.Join(m.ops, ",") + `]}`, Model: "m"}, nil
}

func op(text, quote string) string {
	return fmt.Sprintf(`{"op":"add","ids":[],"text":%q,"quote":%q,"about":"user","lasting":true}`, text, quote)
}

var (
	passes = `{"ops":[` + op("User works as a nurse at St Bride's", "as a nurse at St Bride's") + "," + op("User has a tortoise called Hektor", "a tortoise called Hektor") + `]}`
	copies = `{"ops":[` + op("User's nephew Ozwick plays the zither", "my nephew Ozwick plays the zither") + `]}`
)

// learnsFrom lets the model learn from messages, and returns what is known and what waits.
func (r *rig) learnsFrom(t *testing.T, conversation string, said ...string) (active, waits []string) {
	t.Helper()
	ctx := context.Background()
	if _, err := r.Lessons.Learn(ctx, r.told(t, ana, conversation, said...)); err != nil {
		t.Fatal(err)
	}
	page, err := r.Store.List(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Memories {
		if m.Fact.Status == memory.Active {
			active = append(active, m.Fact.Content)
		} else {
			waits = append(waits, m.Fact.Content)
		}
	}
	slices.Sort(active)
	slices.Sort(waits)
	return active, waits
}

func tryFirst(r *rig, m *applicant) {
	r.LLM, r.Opts.Learn.Trust = m, core.TrustTried
}

func TestWhatAModelWritesThatFailsItsTrialWaits(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "User plays the cello")
		m := &applicant{at: "http://one/v1", trial: copies, ops: []string{
			op("User lives in Berlin", "I live in Berlin"),
			op("User collects old maps", "those old maps of mine pile up"),
			`{"op":"end","ids":["k1"],"text":"User no longer plays the cello","quote":"those old maps of mine pile up","about":"user","lasting":true}`,
		}}
		tryFirst(r, m)
		active, waits := r.learnsFrom(t, "c", "I live in Berlin.", "Those old maps of mine pile up.")
		if want := []string{"User lives in Berlin", "User plays the cello"}; !slices.Equal(active, want) {
			t.Errorf("active are %q, want %q", active, want)
		}
		if !slices.Contains(waits, "User collects old maps") {
			t.Errorf("%q wait", waits)
		}
		failed := r.Lessons.Trials.Failed()
		if len(failed) != 1 || failed[0].Model != "m" || !strings.Contains(failed[0].Why, "copied") {
			t.Errorf("failed trials: %+v", failed)
		}
		m.ops = []string{op("User collects old maps", "old maps are back")} // said again by who is not believed
		if _, waits = r.learnsFrom(t, "d", "My old maps are back."); m.trials != 1 || m.learns != 2 || !slices.Contains(waits, "User collects old maps") {
			t.Errorf("tried %d times in %d lessons, want once in 2; %q wait", m.trials, m.learns, waits)
		}
		m.trial = passes
		r.clock.Advance(learn.TrialLasts)
		if active, _ = r.learnsFrom(t, "e", "My old maps are back again."); m.trials != 2 || !slices.Contains(active, "User collects old maps") {
			t.Errorf("a month later tried %d times, want twice; active are %q", m.trials, active)
		}
	})
}

func TestAModelOfTheSameNameElsewhereIsTriedAgain(t *testing.T) {
	var r *rig
	file := filepath.Join(t.TempDir(), "loci", "trials.json")
	m := &applicant{at: "http://one/v1", trial: passes, ops: []string{op("User collects old maps", "old maps pile up")}}
	for i := range 3 { // the second finds the first's trial, and the third a broken file
		r = newRig(t, stores["inmem"])
		r.Lessons.Trials = &lessons.Trials{Path: file}
		tryFirst(r, m)
		if active, _ := r.learnsFrom(t, "c", "My old maps pile up."); !slices.Contains(active, "User collects old maps") || m.trials != 1+i/2 {
			t.Errorf("process %d: active are %q, tried %d times", i+1, active, m.trials)
		}
		if i == 1 {
			if err := os.WriteFile(file, []byte(`[{"model":"m"`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.at, m.trial, m.ops = "http://two/v1", copies, []string{op("User sells old clocks", "old clocks sell well")}
	if _, waits := r.learnsFrom(t, "d", "My old clocks sell well."); m.trials != 3 || !slices.Contains(waits, "User sells old clocks") {
		t.Errorf("tried %d times; %q wait", m.trials, waits)
	}
}

func TestATrialThatCannotBeMadeIsMadeLater(t *testing.T) {
	for name, away := range map[string]error{
		"fails": memory.Errorf(memory.Unavailable, "it answered 502"), "silent": memory.Errorf(memory.Unavailable, "%w", context.DeadlineExceeded),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, stores["inmem"])
			m := &applicant{away: away, ops: []string{op("User collects old maps", "old maps pile up")}}
			tryFirst(r, m)
			for range 2 {
				if active, waits := r.learnsFrom(t, "c"+fmt.Sprint(m.learns), "My old maps pile up."); len(active) > 0 || !slices.Contains(waits, "User collects old maps") {
					t.Errorf("active are %q, %q wait", active, waits)
				}
			}
			if m.trials != 1 || len(r.Lessons.Trials.Failed()) != 1 {
				t.Errorf("tried %d times, %+v", m.trials, r.Lessons.Trials.Failed())
			}
			m.away, m.trial = nil, passes
			r.clock.Advance(10 * time.Minute)
			active, _ := r.learnsFrom(t, "later", "Again my old maps pile up.")
			if m.trials != 2 || !slices.Contains(active, "User collects old maps") || len(r.Lessons.Trials.Failed()) != 0 {
				t.Errorf("tried %d times, active are %q", m.trials, active)
			}
		})
	}
	r := newRig(t, stores["inmem"])
	off := &jobs.PutOff{Until: r.Time().Add(time.Hour), Why: "spent"}
	m := &applicant{away: off}
	tryFirst(r, m)
	if _, err := r.Lessons.Learn(context.Background(), r.told(t, ana, "c", "My old maps pile up.")); !errors.Is(err, off) || m.learns > 0 {
		t.Errorf("a trial that is put off: %v and %d lessons, want the lesson put off, too", err, m.learns)
	}
}

func TestTrustWithoutATrial(t *testing.T) {
	for trust, wantActive := range map[core.Trust]bool{core.TrustAlways: true, core.TrustNever: false} {
		r := newRig(t, stores["inmem"])
		m := &applicant{ops: []string{op("User collects old maps", "old maps pile up")}}
		r.LLM, r.Opts.Learn.Trust = m, trust
		active, _ := r.learnsFrom(t, "c", "My old maps pile up.")
		if slices.Contains(active, "User collects old maps") != wantActive || m.trials > 0 {
			t.Errorf("%s: active are %q, tried %d times", trust, active, m.trials)
		}
	}
}

func TestALocalModelLearnsBetweenChats(t *testing.T) {
	r := newRig(t, stores["inmem"])
	m := &applicant{ops: []string{op("User collects old maps", "old maps pile up")}}
	r.LLM, r.Opts.Learn.Yields = m, true
	job := r.told(t, ana, "c", "My old maps pile up.")
	var end func()
	m.asked = func(context.Context) { end = r.ChatGate.Begin() } // while it learns
	for range 2 {
		var off *jobs.PutOff
		if _, err := r.Lessons.Learn(context.Background(), job); !errors.As(err, &off) || !off.Until.After(r.Time()) {
			t.Fatalf("while a chat is under way: %v, want it put off", err)
		}
	}
	end()
	m.asked = nil
	if _, err := r.Lessons.Learn(context.Background(), job); err != nil {
		t.Errorf("after the chat: %v", err)
	}
	defer r.ChatGate.Begin()()
	job = r.told(t, ana, "d", "My old maps pile up again.")
	for _, after := range []time.Duration{0, 11 * time.Minute} {
		r.clock.Advance(after)
		_, err := r.Lessons.Learn(context.Background(), job)
		if put := errors.Is(err, core.ErrChat); put != (after == 0) {
			t.Errorf("beside chats for %v: %v", after, err)
		}
	}
}

func TestASilentModelReadsFewerMessages(t *testing.T) {
	r := newRig(t, stores["inmem"])
	m := &applicant{silentFor: 2}
	r.LLM = m
	var said []string
	for i := range 8 {
		said = append(said, fmt.Sprintf("I bought %d old maps in Porto.", i+2))
	}
	r.learnsFrom(t, "c", said...)
	if want := []int{8, 4, 2, 2, 2, 2}; !slices.Equal(m.sizes, want) {
		t.Errorf("it reads %v messages, want %v", m.sizes, want)
	}
	if took := r.Lessons.Took(); !strings.Contains(took, "tokens a second") {
		t.Errorf("it takes %q", took)
	}
	r.clock.Advance(2 * time.Hour)
	m.silentFor, m.sizes = 0, nil
	if r.learnsFrom(t, "d", said...); !slices.Equal(m.sizes, []int{8}) {
		t.Errorf("two hours later it reads %v messages, want all 8", m.sizes)
	}
}
