package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/config"
)

// TestWhatIsWrongIsToldInOnePlainLine: with what to do.
func TestWhatIsWrongIsToldInOnePlainLine(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "file")
	noError(t)(os.WriteFile(file, []byte("api_key marzipan\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "--as-of", "someday"}, `"someday" is not a valid time`},
		{[]string{"list", "--set", "=x"}, "--set =x: write it as key=value"},
		{[]string{"jobs", "--retry", "none"}, "there is no job none; loci jobs lists them"},
		{[]string{"backup", filepath.Join(data, "nowhere", "x.zip")}, "cannot write to " + filepath.Join(data, "nowhere")},
		{[]string{"list", "--config", file}, file + ": [1:1]"},
	} {
		out, err := tryAt(t, data, "sqlite", c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "marzipan") {
			t.Errorf("loci %q: %s, %v; want one line with %q", c.args, out, err, c.want)
		}
	}
	if _, err := tryAt(t, file, "sqlite", "list"); err == nil || !strings.Contains(err.Error(), "the data folder "+file+" cannot be used") || !strings.Contains(err.Error(), "--data") {
		t.Errorf("with a file as the data folder: %v", err)
	}
	if _, err := openServer(t.Context(), config.Config{Addr: "127.0.0.1:99999"}, loci.Options{}, nil); err == nil || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("a port that is none: %v", err)
	}
}

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space is left") }

// TestWhatCannotBePrintedIsAnError for people as for programs.
func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"settings"}, {"jobs"}} {
		cmd := newRootCommand()
		cmd.SetOut(full{})
		cmd.SetArgs(append(args, "--addr", "127.0.0.1:1", "--data", t.TempDir()))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no space is left") {
			t.Errorf("loci %q: %v", args, err)
		}
	}
}

// TestServeEndsItsLogWithALine is of a log of JSON lines, whatever is wrong.
func TestServeEndsItsLogWithALine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, set := range map[string][]string{
		"a port that is taken": {"--addr", taken.Addr().String()},
		"a wrong value":        {"--set", "drain=never"},
		"an unknown setting":   {"--set", "drane=1s"},
	} {
		var out strings.Builder
		cmd := newRootCommand()
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"serve", "--set", "log.format=json", "--data", t.TempDir()}, set...))
		err := cmd.ExecuteContext(t.Context())
		if err == nil {
			t.Fatalf("%s: it served", name)
		}
		writeError(&out, err, err.Error(), false)
		var last struct{ Level, Err string }
		for line := range strings.Lines(out.String()) {
			if json.Unmarshal([]byte(line), &last) != nil {
				t.Errorf("%s: not JSON: %s", name, line)
			}
		}
		if last.Level != "ERROR" || last.Err != err.Error() {
			t.Errorf("%s: the last line is %+v, want %v", name, last, err)
		}
	}
}

func TestAnInterruptedCommandSaysThatAlone(t *testing.T) {
	all := newRootCommand()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"search": {errors.New("something went wrong inside Loci"), "interrupted"},
		"import": {errInterrupted, errInterrupted.Error()},
		"serve":  {errors.New("close the database: it cannot be written"), "close the database: it cannot be written"},
	} {
		cmd, _, err := all.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got := interruptMessage(cmd, c.err); got != c.want {
			t.Errorf("loci %s: %s, want %s", name, got, c.want)
		}
	}
}
