package memtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loci-memory/loci/memory"
)

func TestClockStepsAndAdvances(t *testing.T) {
	var c Clock
	first, second := c.Now(), c.Now()
	if !first.Equal(Epoch) || second.Sub(first) != time.Microsecond {
		t.Errorf("first two times: got %v and %v, want Epoch and a microsecond later", first, second)
	}
	c.Advance(-time.Hour)
	if got := c.Now(); !got.Before(Epoch) {
		t.Errorf("after stepping back an hour: got %v, want before %v", got, Epoch)
	}
	c.Step(-1)
	if a, b := c.Now(), c.Now(); !a.Equal(b) {
		t.Errorf("stopped clock: got %v then %v, want the same", a, b)
	}
}

func TestClockGivesEveryCallerAnotherTime(t *testing.T) {
	var c Clock
	var mu sync.Mutex
	seen := map[time.Time]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				now := c.Now()
				mu.Lock()
				seen[now] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(seen) != 800 {
		t.Errorf("distinct times of 800 calls: got %d", len(seen))
	}
}

func TestIDsAreSortedUUIDv7s(t *testing.T) {
	var ids IDs
	var got []string
	for range 50 {
		got = append(got, ids.New())
	}
	if !slices.IsSorted(got) {
		t.Errorf("ids are not in order: %q", got)
	}
	for _, id := range append(got, ID("ana")) {
		if u, err := uuid.Parse(id); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
			t.Errorf("id %q: got version %v, variant %v, error %v; want a UUIDv7", id, u.Version(), u.Variant(), err)
		}
	}
	if first, again := ID("a"), ID("a"); first != again || first == ID("b") {
		t.Error("ID must depend on its name alone")
	}
}

func TestLLMFollowsItsScript(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("broken")
	m := NewLLM(
		Line{Prompt: "extract", Text: "facts"},
		Line{Text: "any"},
		Line{Prompt: "extract", Err: broken},
		Line{Prompt: "reconcile", Text: Garbage, Always: true},
	)
	for i, want := range []struct{ prompt, text string }{
		{"summarize", "any"}, {"extract", "facts"}, {"reconcile", Garbage}, {"reconcile", Garbage},
	} {
		reply, err := m.Complete(ctx, memory.Prompt{Name: want.prompt})
		if err != nil || reply.Text != want.text {
			t.Errorf("call %d, prompt %s: got %q, %v; want %q", i, want.prompt, reply.Text, err, want.text)
		}
	}
	if _, err := m.Complete(ctx, memory.Prompt{Name: "extract"}); !errors.Is(err, broken) {
		t.Errorf("line with an error: got %v, want %v", err, broken)
	}
	if _, err := m.Complete(ctx, memory.Prompt{Name: "extract"}); !errors.Is(err, memory.Unavailable) {
		t.Errorf("no line left: got %v, want %v", err, memory.Unavailable)
	}
	if got := len(m.Prompts()); got != 6 {
		t.Errorf("recorded prompts: got %d, want 6", got)
	}
	if got := m.Left(); len(got) != 0 {
		t.Errorf("lines left: got %v, want none", got)
	}
}

func TestLLMHangsUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	m := NewLLM(Line{Hang: true})
	go func() {
		_, err := m.Complete(ctx, memory.Prompt{})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("hanging line: got %v, want %v", err, context.Canceled)
	}
}

func TestEmbedderPutsSharedWordsNear(t *testing.T) {
	vs, err := new(Embedder).Embed(context.Background(), memory.AsDocument, "Ana lives in Lisbon", "in LISBON lives ana!", "Ana lives here", "quantum chromodynamics", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vs {
		if d := dot(v, v); len(v) != Dims || math.Abs(d-1) > 1e-6 {
			t.Errorf("vector %d: got %d dims of length %v, want %d and 1", i, len(v), d, Dims)
		}
	}
	same, near, far := dot(vs[0], vs[1]), dot(vs[0], vs[2]), dot(vs[0], vs[3])
	if math.Abs(same-1) > 1e-6 || near <= far {
		t.Errorf("similarities: same words %v, shared words %v, other words %v; want 1 and falling", same, near, far)
	}
	other, _ := (&Embedder{Name: "other"}).Embed(context.Background(), memory.AsDocument, "Ana lives in Lisbon")
	if dot(vs[0], other[0]) > 0.99 {
		t.Error("another model gives the same vector")
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestSamplesPassTheCheck(t *testing.T) {
	f := Fact(Ana, "Ana likes tea")
	run := Run("r1")
	run.Jobs = []memory.Job{Job(Ana, memory.JobEmbed, "j")}
	err := run.Check(Ana,
		Add(f), Retire(f),
		Change(memory.ActionLink, Link(Ana, Fact(Team, "Standup at ten"))),
		Change(memory.ActionAdd, Profile(Ana, "timezone", "Europe/Lisbon")),
		Change(memory.ActionAdd, Relation(Ana, "a", "b", memory.Refines)),
		Change(memory.ActionAdd, Summary(Ana, "c", "tea")),
		TurnMark(memory.ActionRetire, "t", memory.Retired),
	)
	if err != nil {
		t.Errorf("run of samples: %v", err)
	}
	if err := Batch(Ana, "c", 0, "hello", "hi").Check(Ana); err != nil {
		t.Errorf("batch of samples: %v", err)
	}
}
