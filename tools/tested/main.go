// Command tested runs a go test -json command and prints what go test prints without -json: a line
// a package, and all that failed tests say. It appends the seconds of each test to a file.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
)

// event is a line of go test -json: see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// suite is what a package said so far.
type suite struct {
	said []event
	fine map[string]bool // tests that passed or were skipped
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: tested FILE COMMAND [ARGUMENT…]")
	}
	times, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	command := exec.Command(os.Args[2], os.Args[3:]...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		log.Fatal(err)
	}
	suites := map[string]*suite{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			e = event{Action: "build-output", Output: string(line)}
		}
		s := suites[e.Package]
		if s == nil {
			s = &suite{fine: map[string]bool{}}
			suites[e.Package] = s
		}
		s.take(e, times)
	}
	err = command.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(max(1, exit.ExitCode()))
	}
	if err = errors.Join(err, times.Close()); err != nil {
		log.Fatal(err)
	}
}

// take prints a package once it ends.
func (s *suite) take(e event, times io.Writer) {
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			s.said = append(s.said, e)
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			s.print(e.Action)
			return
		}
		if !strings.Contains(e.Test, "/") {
			fmt.Fprintf(times, "%7.1f s  %s  %s\n", e.Elapsed, e.Package, e.Test)
		}
		s.fine[e.Test] = e.Action != "fail"
	}
}

// print writes all that was not fine of a package that failed, and the last line of another.
func (s *suite) print(end string) {
	for i, e := range s.said {
		if end == "fail" && !s.fine[e.Test] || i == len(s.said)-1 {
			fmt.Print(e.Output)
		}
	}
	s.said = nil
}
