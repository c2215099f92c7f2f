package storetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

// Crash is a store to be killed.
type Crash struct {
	// Open returns the store that is kept at a path, on this clock. The store may
	// call point at places where a crash would be unkind: before and after a
	// commit, say. Stores without such places leave it alone.
	Open func(path string, now func() time.Time, point func()) (memory.Store, error)
	// Kills is how often it is killed at random and, if it has points, how many of
	// them are died at. 0: a dozen, or what $LOCI_CRASH_KILLS says.
	Kills int
}

const (
	crashKills = 12
	childEnv   = "LOCI_CRASH_CHILD" // the child's plan
	acked      = "acked "           // begins a line of what was acknowledged
)

// RunCrash checks that whatever a store acknowledged is there, once, after kill
// -9. It runs the test binary again as a child that does nothing but this test:
// several writers append turns, add facts and learn from turns, and say on a pipe
// what was acknowledged. The child is killed, at random or by itself at a numbered
// point, the store is opened and checked, and the next child goes on with it,
// beginning with what was not acknowledged. In the end all turns must have been
// learned from, each once.
func RunCrash(t *testing.T, c Crash) {
	if plan := os.Getenv(childEnv); plan != "" {
		if err := crashChild(c, plan); err != nil {
			fmt.Printf("child: %v\n", err)
			os.Exit(1)
		}
		return
	}
	t.Run("AtRandom", func(t *testing.T) {
		p := newCrashParent(t, c)
		for range p.kills(t) {
			p.round(t, rand.IntN(60)+1, 0)
		}
		p.finish(t)
	})
	t.Run("AtNumberedPoints", func(t *testing.T) {
		p := newCrashParent(t, c)
		for point := range p.kills(t) {
			if !p.round(t, 200, point+1) {
				break // it has no points, or does not pass them so often
			}
		}
		p.finish(t)
	})
}

// crashParent watches children and remembers what they had acknowledged.
type crashParent struct {
	crash Crash
	path  string
	test  string // whose child it is
	hours int    // that its clock is ahead, so that no dead child's lease holds
	acked ledger
}

// now is the clock of the parent or child of that many hours.
func now(hours int) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
}

func newCrashParent(t *testing.T, c Crash) *crashParent {
	return &crashParent{crash: c, path: filepath.Join(t.TempDir(), "store"), test: path.Dir(t.Name())}
}

func (p *crashParent) kills(t *testing.T) int {
	if p.crash.Kills > 0 {
		return p.crash.Kills
	}
	n, ok := number(t, "LOCI_CRASH_KILLS")
	switch {
	case ok:
		return n
	case testing.Short():
		return crashKills / 4
	}
	return crashKills
}

// round lets a child work until it has had acks more acknowledgements or, if
// point is not 0, has died at that point, and checks the store. It reports
// whether the child died at its point.
func (p *crashParent) round(t *testing.T, acks, point int) bool {
	t.Helper()
	died := p.runChild(t, acks, point)
	p.check(t)
	if t.Failed() {
		t.Fatalf("after a kill at %d acknowledgements, point %d", acks, point)
	}
	return died
}

func (p *crashParent) runChild(t *testing.T, acks, point int) bool {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(p.test, "/", "$/^")+"$", "-test.count=1", "-test.timeout=5m")
	plan, err := json.Marshal(childPlan{Path: p.path, Point: int64(point), Hours: p.hours, Done: p.acked.facts})
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	p.hours++
	child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), childEnv+"="+string(plan))
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := child.Start(); err != nil {
		t.Fatalf("start child: %v", err)
	}
	killed, failure := p.listen(out, acks, child.Process)
	err = child.Wait()
	var exit *exec.ExitError
	if failure != "" || !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("child ended with %v, not by a kill: %s\n%s", err, failure, stderr.String())
	}
	return !killed
}

// listen enters acknowledgements until the child is dead, and kills it after
// enough of them.
func (p *crashParent) listen(out io.Reader, acks int, child *os.Process) (killed bool, failure string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), acked)
		if !ok {
			failure += lines.Text() + "\n"
			continue
		}
		p.acked.enter(line)
		if acks--; acks == 0 {
			killed = child.Kill() == nil
		}
	}
	return killed, failure
}

func (p *crashParent) open(t *testing.T) *rig {
	t.Helper()
	s, err := p.crash.Open(p.path, now(p.hours), func() {})
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	return rigOn(t, s, nil)
}

func (p *crashParent) check(t *testing.T) {
	t.Helper()
	r := p.open(t)
	p.acked.check(r)
	r.must("close", r.Close())
}

// finish learns what is left, as a worker would, and checks that nothing is.
func (p *crashParent) finish(t *testing.T) {
	t.Helper()
	r := p.open(t)
	for range 2 { // the first time may park one that the last children died with
		for _, j := range r.jobs(ana, memory.JobParked) {
			r.must("requeue", r.Requeue(r.Context(), ana, j.ID))
		}
		r.must("learn what is left", learnAll(r.Context(), r.Store, func(string) {}))
	}
	p.acked.check(r)
	checkLearned(r)
	t.Logf("%d acknowledged writes were there after the kills", p.acked.size())
	r.must("close", r.Close())
}

// dieAt returns a point that kills this process when it is passed for the n-th
// time; never, if n is 0.
func dieAt(n int64) func() {
	var passed atomic.Int64
	return func() {
		if passed.Add(1) != n {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // the signal is on its way; nothing may be done any more
	}
}
