package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// RunHistory plays random scripts on two stores, the reference and the one under test, and compares
// all answers. Of the latter it also checks the rules of every script, that undoing a run restores
// what was active before it and, at the end of each history, that reads as of a time equal those
// made then. $LOCI_HISTORIES sets the number; package rapid shrinks a failing history, and prints
// how to repeat it.
func RunHistory(t *testing.T, reference, open Open) {
	n, ok := number(t, "LOCI_HISTORIES")
	if !ok {
		n = historiesMade
	}
	const checks = "rapid.checks"
	was := flag.Lookup(checks).Value.String()
	set := func(to string) {
		if err := flag.Set(checks, to); err != nil {
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(n))
	defer set(was)
	rapid.Check(t, func(rt *rapid.T) {
		history := histories.Draw(rt, "history")
		want, got := newPlayer(t, reference), newPlayer(t, open)
		defer func() {
			_ = want.Close() // closing is not compared
			_ = got.Close()
		}()
		if diff := compared(want, got, history); diff != "" {
			rt.Fatalf("%s\nscript:\n%s", diff, strings.Join(numbered(history), "\n"))
		}
	})
}

var histories = rapid.SliceOfN(rapid.Custom(drawStep), 30, 40)

const historiesMade = 25

// number reads a number from the environment, if it is set.
func number(t *testing.T, name string) (int, bool) {
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is a number, not %q", name, text)
	}
	return n, true
}

// numbered returns the steps of a history.
func numbered(history [][]string) []string {
	var steps []string
	for n, piece := range history {
		for _, step := range piece {
			steps = append(steps, strings.ReplaceAll(step, "$n", strconv.Itoa(n)))
		}
	}
	return steps
}

// compared plays a history on two stores and returns the first difference, "" for none.
func compared(want, got *play, history [][]string) string {
	for _, step := range numbered(history) {
		wanted, answer := want.answer(step), got.answer(step)
		var options cmp.Option
		if strings.Contains(step, "as_of=+") {
			options = ignoreVersions
		}
		if diff := difference(answer, wanted, options); diff != "" {
			return fmt.Sprintf("%s (-got +want):\n%s", step, diff)
		}
		if wrong := got.TB.(*quiet).wrong; wrong != "" {
			return wrong
		}
	}
	for _, o := range []memory.Owner{ana, ben} {
		if diff := difference(got.snapshot(o), want.snapshot(o)); diff != "" {
			return fmt.Sprintf("what %s has in the end (-got +want):\n%s", o, diff)
		}
	}
	got.quietly(got.atTheEnd)
	return got.TB.(*quiet).wrong
}

// answer is a step's result: errors by code, since messages are a store's own, and leases without
// their token.
type answer struct {
	Code  memory.Code
	Value any
}

func (p *play) answer(step string) (a answer) {
	l, err := parseLine(step)
	p.must(step, err)
	p.quietly(func() {
		var err error
		a.Value, err = p.take(l)
		if err == nil {
			p.check(&line{verb: l.verb, text: l.text, label: l.label}, a.Value, nil)
		}
		switch value := a.Value.(type) {
		case memory.Job:
			value.Lease.Token = ""
			a.Value = value
		case memory.Lease:
			value.Token = ""
			a.Value = value
		}
		if err != nil {
			a = answer{Code: memory.Code("unexpected: " + err.Error())}
		}
		for _, code := range []memory.Code{memory.Invalid, memory.NotFound, memory.Conflict, memory.Duplicate, memory.Gone, memory.LeaseLost} {
			if errors.Is(err, code) {
				a.Code = code
			}
		}
	})
	return a
}

// newPlayer returns a play that records failures instead of failing the test. Its clock stands
// still, since stores may read it any number of times.
func newPlayer(t *testing.T, open Open) *play {
	clock := new(memtest.Clock)
	clock.Step(-1)
	p := newPlay(rigOn(&quiet{ctx: t.Context()}, open(t, clock.Now), clock))
	for _, job := range []string{"a", "b", "c", "last"} {
		p.leases[job] = memory.Lease{Owner: ana, Job: job, Token: "none"}
	}
	p.watched[ana], p.watched[ben] = []moment{}, []moment{}
	p.every = 4
	return p
}

// quiet is a test that records its first failure.
type quiet struct {
	ctx   context.Context // of the test
	wrong string
}

func (q *quiet) Helper() {}

func (q *quiet) Context() context.Context { return q.ctx }

func (q *quiet) Errorf(format string, args ...any) {
	if q.wrong == "" {
		q.wrong = fmt.Sprintf(format, args...)
	}
}

func (q *quiet) Fatalf(format string, args ...any) {
	q.Errorf(format, args...)
	panic(q)
}

func (q *quiet) Skipf(format string, args ...any) { q.Fatalf(format, args...) }

// quietly runs do and records a fatal failure.
func (p *play) quietly(do func()) {
	defer func() {
		if r := recover(); r != nil && r != any(p.TB) {
			panic(r)
		}
	}()
	do()
}

// moment is an owner's data at a time.
type moment struct {
	at       time.Time
	exported export
}
