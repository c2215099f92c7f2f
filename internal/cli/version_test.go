package cli

import (
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/obs"
	"github.com/loci-memory/loci/memory"
)

func TestVersionPrintsTheBuild(t *testing.T) {
	s := newStandIn(t, map[string]any{})
	text := try(s.loci(t, "version")).orFail(t)
	for _, want := range []string{"loci " + obs.Version() + "\n", "commit    ", "go        " + runtime.Version() + "\n", "platform  " + runtime.GOOS + "/" + runtime.GOARCH + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("printed %q, want %q in it", text, want)
		}
	}
	var got obs.Build
	if err := json.Unmarshal([]byte(try(s.loci(t, "version", "--json")).orFail(t)), &got); err != nil || got != obs.BuildInfo() {
		t.Errorf("JSON: got %+v, %v; want %+v", got, err, obs.BuildInfo())
	}
	if len(s.got) > 0 {
		t.Errorf("asked the server %q, want nothing", s.got)
	}
}

func TestHealthIsTheServersReadiness(t *testing.T) {
	t.Setenv("LOCI_DATA", t.TempDir())
	s := newStandIn(t, map[string]any{"GET /health/ready": client.Ready{Status: client.StatusReady, Problems: []string{"store"}}})
	if out, err := s.loci(t, "health"); err != nil || out != "ready\nproblem: store\n" {
		t.Errorf("ready: printed %q, %v", out, err)
	}
	s.answers["GET /health/ready"] = client.Problem{Status: 503, Code: memory.Unavailable, Detail: "the server is starting"}
	if out, err := s.loci(t, "health"); !errors.Is(err, memory.Unavailable) {
		t.Errorf("starting: printed %q, %v; want Unavailable", out, err)
	}
	encrypted := httptest.NewTLSServer(s.Config.Handler)
	defer encrypted.Close()
	cmd := newRootCommand()
	cmd.SetOut(io.Discard)
	cmd.SetArgs([]string{"health", "--addr", encrypted.Listener.Addr().String(), "--set", "tls.cert=c.pem", "--set", "tls.key=k.pem"})
	s.answers["GET /health/ready"] = client.Ready{Status: client.StatusReady}
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Errorf("TLS: %v", err)
	}
	s.Close()
	if out, err := s.loci(t, "health"); !errors.Is(err, memory.Unavailable) {
		t.Errorf("no server: printed %q, %v; want Unavailable", out, err)
	}
}
