package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
)

// Program is a loci that can be started.
type Program struct {
	Path     string   // the executable
	Settings []string // key=value, besides those that a measure needs; the last of equal keys counts
	Env      []string // variables of its own, besides those that it is given anyway
}

// process is a loci that serves.
type process struct {
	url     string
	started time.Time
	cmd     *exec.Cmd
	ended   chan struct{} // closed when its standard error is
	mu      sync.Mutex
	said    strings.Builder // guarded by mu
}

const (
	// startTime and stopTime bound how long the program may take to say where it
	// listens, and to end. Nothing that works comes near either.
	startTime = time.Minute
	stopTime  = 2 * time.Minute
)

// address is how serve says where it listens.
var address = lazy.Compile(`chat \(OpenAI\)\s+(http://[^/\s]+)/v1`)

// serve starts the program on a data folder, at a port of the system's choice.
// The surroundings' LOCI_ variables are kept from it, so that the defaults are
// measured and what was asked for. The caller must stop it.
func (p Program) serve(ctx context.Context, data string) (*process, error) {
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", data}
	for _, s := range p.Settings {
		args = append(args, "--set", s)
	}
	s := &process{cmd: exec.CommandContext(ctx, p.Path, args...), ended: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LOCI_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(s.cmd.Env, p.Env...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.started = time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	listens := make(chan string, 1)
	go s.follow(stderr, listens)
	late := time.NewTimer(startTime)
	defer late.Stop()
	select {
	case s.url = <-listens:
		return s, nil
	case <-s.ended:
		err = s.cmd.Wait()
	case <-late.C:
		err = errors.Join(fmt.Errorf("it did not say where it listens within %v", startTime), s.kill())
	}
	return nil, fmt.Errorf("start the server: %w: %s", err, s.words())
}

// follow reads what the process says, and hands on where it listens.
func (s *process) follow(r io.Reader, listens chan<- string) {
	defer close(s.ended)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.said.WriteString(lines.Text() + "\n")
		s.mu.Unlock()
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			select {
			case listens <- found[1]:
			default: // it was said before
			}
		}
	}
	_, _ = io.Copy(io.Discard, r) // after a line beyond all measure, so that the process does not block
}

func (s *process) words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.said.String())
}

// stop lets the process come to its end by itself and waits for it.
func (s *process) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return s.kill() // Windows knows no other way
	}
	late := time.AfterFunc(stopTime, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.ended
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the server: %w: %s", err, s.words())
	}
	return nil
}

func (s *process) kill() error {
	err := s.cmd.Process.Kill()
	<-s.ended
	_ = s.cmd.Wait() // its status says that it was killed
	return err
}
