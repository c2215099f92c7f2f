package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loci": main})
}

// TestScripts runs testdata/script: the command line as people and programs use it.
// A script's home folder is its own, and no server answers until it starts one.
// Besides testscript's own, there are the commands
//
//	serving [ARG...]   start "loci serve" at a free port; LOCI_ADDR is its address from then on
//	id NAME            set NAME to the first memory id that the last command printed
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("LOCI_ADDR", "127.0.0.1:1")    // a port where nothing listens
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would wait a second at the end of each command
			return os.Mkdir(env.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serving": serving(t),
			"id":      id,
			"soon":    soon,
		},
	})
}

// soon runs a command again and again until its output is what a pattern says: "soon
// '^done$' loci jobs". What goes on in the background has its own time.
func soon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: soon pattern command [argument ...]")
	}
	want := regexp.MustCompile("(?m)" + args[0])
	for tries := 0; ; tries++ {
		err := ts.Exec(args[1], args[2:]...)
		out := ts.ReadFile("stdout")
		switch {
		case err == nil && want.MatchString(out):
			return
		case tries == 100:
			ts.Fatalf("%v: %s", err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

var address = regexp.MustCompile(`chat \(OpenAI\)\s+http://([^/\s]+)/v1`)

func serving(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("unsupported: ! serving")
		}
		path, err := exec.LookPath("loci")
		ts.Check(err)
		cmd := exec.Command(path, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
		cmd.Dir = ts.MkAbs(".")
		for _, name := range []string{"HOME", "PATH", "GORACE", "LOCI_API_KEY"} {
			if value := ts.Getenv(name); value != "" {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
		stderr, err := cmd.StderrPipe()
		ts.Check(err)
		ts.Check(cmd.Start())
		at, ended := make(chan string, 1), make(chan struct{})
		go func() {
			defer close(ended)
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				if found := address.FindStringSubmatch(lines.Text()); found != nil {
					at <- found[1]
				}
			}
		}()
		ts.Defer(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			<-ended
			if err := cmd.Wait(); err != nil {
				t.Errorf("loci serve %q ended with %v", args, err)
			}
		})
		select {
		case addr := <-at:
			ts.Setenv("LOCI_ADDR", addr)
		case <-ended:
			ts.Fatalf("loci serve ended before it listened")
		}
	}
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func id(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: id NAME")
	}
	found := uuid.FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("there is no id in what was printed:\n%s", ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], found)
}
