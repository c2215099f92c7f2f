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

// Crash is a store to crash.
type Crash struct {
	// Open opens the store at a path, with this clock. The store may call point where a crash is
	// critical: before and after a commit, for example. Other stores ignore it.
	Open func(path string, now func() time.Time, point func()) (memory.Store, error)
	// Kills is the number of random kills and, for a store with points, of kills at points. 0: a
	// dozen, or the value of $LOCI_CRASH_KILLS.
	Kills int
}

const (
	crashKills = 12
	childEnv   = "LOCI_CRASH_CHILD" // the child's plan
	acked      = "acked "           // prefix of an acknowledgement line
)

// RunCrash checks that everything a store acknowledged exists, once, after kill -9. It runs the
// test binary as a child process: several writers append turns, add facts and learn from turns, and
// report acknowledgements on a pipe. The child is killed, at random or by itself at a numbered
// point, the store is opened and checked, and the next child continues with the first
// unacknowledged write. In the end all turns must be learned from, each once.
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
				break // it has no points, or passes fewer
			}
		}
		p.finish(t)
	})
}

// crashParent watches children and collects their acknowledgements.
type crashParent struct {
	crash Crash
	path  string
	test  string // the test that the child runs
	hours int    // offset of its clock, so that no dead child's lease is current
	acked ledger
}

// now returns a clock with this offset in hours.
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

// round runs a child until it has sent acks more acknowledgements or, if point is not 0, died at
// that point, and checks the store. It reports whether the child died at its point.
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

// listen reads acknowledgements until the child is dead, and kills it after enough of them.
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

// finish learns from the remaining turns, and checks that none is left.
func (p *crashParent) finish(t *testing.T) {
	t.Helper()
	r := p.open(t)
	for range 2 { // the first time may park the last children's job
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

// dieAt returns a point that kills this process at its n-th call; never, if n is 0.
func dieAt(n int64) func() {
	var passed atomic.Int64
	return func() {
		if passed.Add(1) != n {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // the signal will arrive; nothing else may run
	}
}
