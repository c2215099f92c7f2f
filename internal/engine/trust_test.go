package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/internal/learn"
	"github.com/loci-memory/loci/memory"
)

// applicant is a model that is tried before it learns.
type applicant struct {
	trial          string // what it replies to the trial
	away           error  // why it does not
	ops            []string
	trials, learns int
	sizes          []int // messages of each lesson
	silentFor      int   // it is silent for more messages than these; 0: never
	kept           []learn.TrialResult
}

func (m *applicant) Trial(model string) (learn.TrialResult, bool) {
	for _, is := range m.kept {
		if is.Model == model {
			return is, true
		}
	}
	return learn.TrialResult{}, false
}

func (m *applicant) ChosenModel() string { return "m" }

func (m *applicant) StoreTrial(is learn.TrialResult) { m.kept = []learn.TrialResult{is} }

func (m *applicant) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	if strings.Contains(p.User, "Max Power") {
		m.trials++
		return memory.Reply{Text: m.trial, Model: "m"}, m.away
	}
	m.learns++
	_, turns, _ := strings.Cut(p.User, "The turns:")
	n := strings.Count(turns, "] user")
	m.sizes = append(m.sizes, n)
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
	noError(t)(r.Lessons.Learn(ctx, r.told(t, ana, conversation, said...)))
	page := try(r.Store.List(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}, Statuses: []memory.Status{memory.Active, memory.Pending}, Limit: 100})).orFail(t)
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
	r.LLM, r.Opts.Learn.Trust, r.Opts.LearnModel = m, "tried", "another" // the chosen model counts
}

func TestWhatAModelWritesThatFailsItsTrialWaits(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		r.note(t, ana, "User plays the cello")
		m := &applicant{trial: copies, ops: []string{
			op("User lives in Berlin", "I live in Berlin"),
			op("User collects old maps", "those old maps of mine pile up"),
			`{"op":"end","ids":["k1"],"text":"User no longer plays the cello","quote":"those old maps of mine pile up","about":"user","lasting":true}`,
			`{"op":"replace","ids":["k1"],"text":"User plays the harp","quote":"those old maps of mine pile up","about":"user","lasting":true}`,
		}}
		tryFirst(r, m)
		active, waits := r.learnsFrom(t, "c", "I live in Berlin.", "Those old maps of mine pile up.")
		if want := []string{"User lives in Berlin", "User plays the cello"}; !slices.Equal(active, want) {
			t.Errorf("active are %q, want %q", active, want)
		}
		if !slices.Contains(waits, "User collects old maps") {
			t.Errorf("%q wait", waits)
		}
		if len(m.kept) != 1 || m.kept[0].Model != "m" || m.kept[0].Passed || !strings.Contains(m.kept[0].Explanation, "0 of 4") {
			t.Errorf("kept are %+v", m.kept)
		}
		m.ops = []string{op("User collects old maps", "old maps are back")} // said again by who is not believed
		if _, waits = r.learnsFrom(t, "d", "My old maps are back."); m.trials != 1 || m.learns != 2 || !slices.Contains(waits, "User collects old maps") {
			t.Errorf("tried %d times in %d lessons, want once in 2; %q wait", m.trials, m.learns, waits)
		}
		preview, err := r.Exchange.Preview(context.Background(), ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "I work as a nurse. My old maps are back."}}})
		if err != nil || m.trials != 1 {
			t.Errorf("a preview: %v, tried %d times", err, m.trials)
		}
		for _, c := range preview.Changes {
			if f := c.After.Fact; f != nil && (f.Status == memory.Active) == (f.Content == "User collects old maps") {
				t.Errorf("a preview makes %q %s", f.Content, f.Status)
			}
		}
		m.trial, m.kept = passes, nil
		if active, _ = r.learnsFrom(t, "e", "My old maps are back again."); m.trials != 2 || !slices.Contains(active, "User collects old maps") {
			t.Errorf("a month later tried %d times, want twice; active are %q", m.trials, active)
		}
	})
}

func TestATrialThatCannotBeMadeIsMadeLater(t *testing.T) {
	r := newRig(t, stores["inmem"])
	off := &jobs.PutOff{Until: r.Time().Add(time.Hour), Reason: "spent"}
	m := &applicant{ops: []string{op("User collects old maps", "old maps pile up")}}
	tryFirst(r, m)
	job := r.told(t, ana, "c", "My old maps pile up.")
	for _, m.away = range []error{off, memory.Errorf(memory.Unavailable, "it answered 502"), memory.Errorf(memory.Unavailable, "%w", context.DeadlineExceeded)} {
		if _, err := r.Lessons.Learn(context.Background(), job); !errors.Is(err, m.away) || m.learns > 0 || len(m.kept) > 0 {
			t.Errorf("%v: %v and %d lessons, want none", m.away, err, m.learns)
		}
	}
	m.away, m.trial = nil, passes
	if _, err := r.Lessons.Learn(context.Background(), job); err != nil || m.trials != 4 || m.learns != 1 {
		t.Errorf("later: %v, tried %d times", err, m.trials)
	}
}

func TestTrustWithoutATrial(t *testing.T) {
	for trust, wantActive := range map[string]bool{"always": true, "never": false} {
		r := newRig(t, stores["inmem"])
		m := &applicant{ops: []string{op("User collects old maps", "old maps pile up")}}
		r.LLM, r.Opts.Learn.Trust = m, trust
		active, _ := r.learnsFrom(t, "c", "My old maps pile up.")
		if slices.Contains(active, "User collects old maps") != wantActive || m.trials > 0 {
			t.Errorf("%s: active are %q, tried %d times", trust, active, m.trials)
		}
	}
}

func TestASilentModelReadsFewerMessages(t *testing.T) {
	for _, silentFor := range []int{2, 1} {
		r := newRig(t, stores["inmem"])
		m := &applicant{silentFor: silentFor}
		r.LLM = m
		var said []string
		for i := range 8 {
			said = append(said, fmt.Sprintf("I bought %d old maps in Porto.", i+2))
		}
		job := r.told(t, ana, "c", said...)
		for job.Attempts = range 3 {
			_, err := r.Lessons.Learn(context.Background(), job)
			if silent := errors.Is(err, context.DeadlineExceeded); silent != (job.Attempts < 2) {
				t.Errorf("attempt %d: %v", job.Attempts, err)
			}
		}
		if want := []int{8, 4, 2, 2, 2, 2}; !slices.Equal(m.sizes, want) {
			t.Errorf("it reads %v messages, want %v", m.sizes, want)
		}
	}
}

// TestADistrustedModelSumsUpNothing has a model that failed its trial: what it would write of a
// chat comes into no fact, no summary and no prompt.
func TestADistrustedModelSumsUpNothing(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Learn.Summary = core.SummaryOptions{EveryExchanges: 1}
		m := &applicant{trial: copies, ops: []string{op("User's nephew Ozwick plays the zither", "those old maps of mine pile up")}}
		tryFirst(r, m)
		active, _ := r.learnsFrom(t, "c", "I live in Berlin.", "Those old maps of mine pile up.", "I want to buy a plan chest by Friday.")
		if want := []string{"User lives in Berlin", "User wants to buy a plan chest by 2026-01-09"}; !slices.Equal(active, want) {
			t.Errorf("active are %q, want %q", active, want)
		}
		noError(t)(r.Store.Apply(ctx, ana, memory.Run{ID: "sum", Kind: "test", Jobs: []memory.Job{core.SummaryJob(ana, "c", "s")}}))
		noError(t)(r.work(ctx))
		made, err := r.Summaries(ctx, ana, "c")
		if err != nil || len(made) != 1 || made[0].Model != core.RuleBased || strings.Contains(made[0].Text, "Ozwick") || m.learns != 1 {
			t.Errorf("summed up as %+v (%v), by a model that was asked %d times", made, err, m.learns)
		}
	})
}
