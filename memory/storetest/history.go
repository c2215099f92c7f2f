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

// RunHistory plays random scripts on two stores, the reference and the tested store, and compares all
// results. On the tested store it also checks the rules that hold in every script, and that an undo of a run
// restores the previous active data. At the end of each history, reads as of an earlier time must equal the
// reads made at that time. $LOCI_HISTORIES sets the number of histories. Package rapid shrinks a failing
// history and prints how to repeat it.
func RunHistory(t *testing.T, reference, open Open) {
	n, ok := envNumber(t, "LOCI_HISTORIES")
	if !ok {
		n = defaultHistories
	}
	const checks = "rapid.checks"
	previous := flag.Lookup(checks).Value.String()
	set := func(to string) {
		if err := flag.Set(checks, to); err != nil {
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(n))
	defer set(previous)
	rapid.Check(t, func(rt *rapid.T) {
		history := historyGenerator.Draw(rt, "history")
		want, got := newRecordingRun(t, reference), newRecordingRun(t, open)
		defer func() {
			_ = want.Close() // errors of closing are not compared
			_ = got.Close()
		}()
		if diff := firstDifference(want, got, history); diff != "" {
			rt.Fatalf("%s\nscript:\n%s", diff, strings.Join(historyLines(history), "\n"))
		}
	})
}

var historyGenerator = rapid.SliceOfN(rapid.Custom(drawStep), 30, 40)

const defaultHistories = 25

// envNumber reads a number from an environment variable. It returns false if the variable is empty.
func envNumber(t *testing.T, name string) (int, bool) {
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s must be a number, not %q", name, text)
	}
	return n, true
}

// historyLines returns the lines of a history, with $n replaced by the number of the step.
func historyLines(history [][]string) []string {
	var steps []string
	for n, piece := range history {
		for _, step := range piece {
			steps = append(steps, strings.ReplaceAll(step, "$n", strconv.Itoa(n)))
		}
	}
	return steps
}

// firstDifference plays a history on two stores and returns the first difference, or "".
func firstDifference(want, got *scriptRun, history [][]string) string {
	for _, step := range historyLines(history) {
		wanted, answer := want.runForResult(step), got.runForResult(step)
		var options cmp.Option
		if strings.Contains(step, "as_of=+") {
			options = ignoreVersions
		}
		if diff := difference(answer, wanted, options); diff != "" {
			return fmt.Sprintf("%s (-got +want):\n%s", step, diff)
		}
		if wrong := got.TB.(*failureRecorder).failure; wrong != "" {
			return wrong
		}
	}
	for _, o := range []memory.Owner{ana, ben} {
		if diff := difference(got.readSnapshot(o), want.readSnapshot(o)); diff != "" {
			return fmt.Sprintf("data of %s at the end (-got +want):\n%s", o, diff)
		}
	}
	got.recordFailures(got.checkEnd)
	return got.TB.(*failureRecorder).failure
}

// stepResult is a step's result. An error is compared only by code, and a lease without its token, since
// messages and tokens differ between stores.
type stepResult struct {
	Code  memory.Code
	Value any
}

func (p *scriptRun) runForResult(step string) (result stepResult) {
	l, err := parseStep(step)
	p.must(step, err)
	p.recordFailures(func() {
		var err error
		result.Value, err = p.runStep(l)
		if err == nil {
			p.checkResult(&scriptStep{verb: l.verb, text: l.text, label: l.label}, result.Value, nil)
		}
		switch value := result.Value.(type) {
		case memory.Job:
			value.Lease.Token = ""
			result.Value = value
		case memory.Lease:
			value.Token = ""
			result.Value = value
		}
		if err != nil {
			result = stepResult{Code: memory.Code("unexpected: " + err.Error())}
		}
		for _, code := range []memory.Code{memory.Invalid, memory.NotFound, memory.Conflict, memory.Duplicate, memory.Gone, memory.LeaseLost} {
			if errors.Is(err, code) {
				result.Code = code
			}
		}
	})
	return result
}

// newRecordingRun returns a script run that records failures instead of failing the test. Its clock does not
// advance by itself, since two stores may read the clock a different number of times.
func newRecordingRun(t *testing.T, open Open) *scriptRun {
	clock := new(memtest.Clock)
	clock.SetStep(-1)
	p := newScriptRun(newRigOn(&failureRecorder{ctx: t.Context()}, open(t, clock.Now), clock))
	for _, job := range []string{"a", "b", "c", "last"} {
		p.leases[job] = memory.Lease{Owner: ana, Job: job, Token: "none"}
	}
	p.watchedExports[ana], p.watchedExports[ben] = []timedExport{}, []timedExport{}
	p.exportInterval = 4
	return p
}

// failureRecorder is a TB that records its first failure.
type failureRecorder struct {
	ctx     context.Context // the test's context
	failure string
}

func (q *failureRecorder) Helper() {}

func (q *failureRecorder) Context() context.Context { return q.ctx }

func (q *failureRecorder) Errorf(format string, args ...any) {
	if q.failure == "" {
		q.failure = fmt.Sprintf(format, args...)
	}
}

func (q *failureRecorder) Fatalf(format string, args ...any) {
	q.Errorf(format, args...)
	panic(q)
}

func (q *failureRecorder) Skipf(format string, args ...any) { q.Fatalf(format, args...) }

// recordFailures calls f and recovers from a recorded fatal failure.
func (p *scriptRun) recordFailures(f func()) {
	defer func() {
		if r := recover(); r != nil && r != any(p.TB) {
			panic(r)
		}
	}()
	f()
}

// timedExport is an owner's data at the time of a read.
type timedExport struct {
	at   time.Time
	data export
}
