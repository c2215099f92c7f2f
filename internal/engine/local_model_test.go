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
	"github.com/loci-memory/loci/internal/jobs"
	"github.com/loci-memory/loci/memory"
)

// applicant is a model that learns on this machine.
type applicant struct {
	ops       []string
	sizes     []int // messages of each lesson
	silentFor int   // it is silent for more messages than these; 0: never
	asked     func(context.Context)
}

func (m *applicant) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
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
