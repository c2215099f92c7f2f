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

// CrashConfig describes a store that RunCrash kills.
type CrashConfig struct {
	// Open opens the store at a path with a clock. A store may call crashPoint wherever a crash is
	// critical, such as before and after a commit.
	Open func(path string, now func() time.Time, crashPoint func()) (memory.Store, error)
	// Kills is the number of random kills, and the maximum number of kills at crash points. 0 means
	// $LOCI_CRASH_KILLS, or 12 if that is not set.
	Kills int
}

const (
	defaultKills = 12
	childPlanEnv = "LOCI_CRASH_CHILD" // environment variable with the child's plan as JSON
	ackPrefix    = "acked "           // prefix of a line that acknowledges a write
)

// RunCrash checks that each acknowledged write exists exactly once after kill -9. It runs the test binary as
// a child process in which several writers append turns, add facts and learn from turns, and report
// acknowledgements on a pipe. The child is killed at random, or by itself at a numbered point. Then the store
// is opened and checked, and the next child continues with the first unacknowledged write. At the end, the
// children must have learned from every turn once.
func RunCrash(t *testing.T, c CrashConfig) {
	if plan := os.Getenv(childPlanEnv); plan != "" {
		if err := crashChild(c, plan); err != nil {
			fmt.Printf("child: %v\n", err)
			os.Exit(1)
		}
		return
	}
	t.Run("AtRandom", func(t *testing.T) {
		p := newCrashParent(t, c)
		for range p.killCount(t) {
			p.runRound(t, rand.IntN(60)+1, 0)
		}
		p.learnRemainingTurns(t)
	})
	t.Run("AtNumberedPoints", func(t *testing.T) {
		p := newCrashParent(t, c)
		for point := range p.killCount(t) {
			if !p.runRound(t, 200, point+1) {
				break // no child died: the store has no more points
			}
		}
		p.learnRemainingTurns(t)
	})
}

// crashParent runs children and collects their acknowledgements.
type crashParent struct {
	config      CrashConfig
	path        string
	testName    string // name of the test that the child runs
	clockOffset int    // offset of the child's clock in hours; greater for each child, so that leases of dead children have expired
	writes      acknowledgedWrites
}

// clockAhead returns a clock that is ahead by a number of hours.
func clockAhead(hours int) func() time.Time {
	return func() time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
}

func newCrashParent(t *testing.T, c CrashConfig) *crashParent {
	return &crashParent{config: c, path: filepath.Join(t.TempDir(), "store"), testName: path.Dir(t.Name())}
}

func (p *crashParent) killCount(t *testing.T) int {
	if p.config.Kills > 0 {
		return p.config.Kills
	}
	n, ok := envNumber(t, "LOCI_CRASH_KILLS")
	switch {
	case ok:
		return n
	case testing.Short():
		return defaultKills / 4
	}
	return defaultKills
}

// runRound runs a child until it has sent ackCount acknowledgements or, if killPoint is not 0, has died at
// this crash point. Then it checks the store. It reports whether the child died at killPoint.
func (p *crashParent) runRound(t *testing.T, ackCount, killPoint int) bool {
	t.Helper()
	died := p.runChild(t, ackCount, killPoint)
	p.check(t)
	if t.Failed() {
		t.Fatalf("after a kill at acknowledgement %d or point %d", ackCount, killPoint)
	}
	return died
}

func (p *crashParent) runChild(t *testing.T, ackCount, killPoint int) bool {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(p.testName, "/", "$/^")+"$", "-test.count=1", "-test.timeout=5m")
	plan, err := json.Marshal(childPlan{StorePath: p.path, KillPoint: int64(killPoint), ClockOffset: p.clockOffset, AckedFacts: p.writes.facts})
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	p.clockOffset++
	child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), childPlanEnv+"="+string(plan))
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := child.Start(); err != nil {
		t.Fatalf("start child: %v", err)
	}
	killed, failure := p.readAcks(out, ackCount, child.Process)
	err = child.Wait()
	var exit *exec.ExitError
	if failure != "" || !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("child ended with %v, not by a kill: %s\n%s", err, failure, stderr.String())
	}
	return !killed
}

// readAcks reads acknowledgements until the child is dead. After ackCount of them it kills the child.
func (p *crashParent) readAcks(out io.Reader, ackCount int, child *os.Process) (killed bool, failure string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), ackPrefix)
		if !ok {
			failure += lines.Text() + "\n"
			continue
		}
		p.writes.addLine(line)
		if ackCount--; ackCount == 0 {
			killed = child.Kill() == nil
		}
	}
	return killed, failure
}

func (p *crashParent) open(t *testing.T) *rig {
	t.Helper()
	s, err := p.config.Open(p.path, clockAhead(p.clockOffset), func() {})
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	return newRigOn(t, s, nil)
}

func (p *crashParent) check(t *testing.T) {
	t.Helper()
	r := p.open(t)
	p.writes.check(r)
	r.must("close", r.Close())
}

// learnRemainingTurns learns from the remaining turns and checks that no unlearned turn remains.
func (p *crashParent) learnRemainingTurns(t *testing.T) {
	t.Helper()
	r := p.open(t)
	for range 2 { // the first pass may park the job that the last child abandoned
		for _, j := range r.jobs(ana, memory.JobParked) {
			r.must("requeue", r.Requeue(r.Context(), ana, j.ID))
		}
		r.must("learn from the remaining turns", learnAll(r.Context(), r.Store, func(string) {}))
	}
	p.writes.check(r)
	checkLearned(r)
	t.Logf("%d acknowledged writes existed after the kills", p.writes.size())
	r.must("close", r.Close())
}

// killAtCall returns a function that kills this process at its n-th call, or never if n is 0.
func killAtCall(n int64) func() {
	var calls atomic.Int64
	return func() {
		if calls.Add(1) != n {
			return
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // wait for the kill: the caller must not continue
	}
}
