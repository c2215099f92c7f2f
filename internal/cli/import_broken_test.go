package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// TestAnImportThatIsBrokenOffSaysSo stops one while the server has its first part. It
// does not say what was added then, since nobody knows.
func TestAnImportThatIsBrokenOffSaysSo(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/import" {
			_, _ = io.WriteString(w, `{"jobs":[]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then it is seen that the client is gone
		interrupt()
		<-r.Context().Done()
	}))
	defer server.Close()
	facts := filepath.Join(t.TempDir(), "facts.md")
	noError(t)(os.WriteFile(facts, []byte("- User likes tea\n"), 0o600))
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetArgs([]string{"import", facts, "--addr", strings.TrimPrefix(server.URL, "http://")})
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(ctx)
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted") || out.Len() > 0 {
		t.Errorf("it ends with %v and says %q", err, out.String())
	}
}

// TestAnImportThatTheServerCouldNotEndSaysHowItGoesOn, and not that nothing was added.
func TestAnImportThatTheServerCouldNotEndSaysHowItGoesOn(t *testing.T) {
	s := newStandIn(t, map[string]any{
		"GET /api/jobs":    client.Jobs{},
		"POST /api/import": client.Problem{Title: "Unavailable", Status: 503, Detail: "no space is left", Code: memory.Unavailable},
	})
	facts := filepath.Join(t.TempDir(), "facts.md")
	noError(t)(os.WriteFile(facts, []byte("- User likes tea\n"), 0o600))
	out, err := s.loci(t, "import", facts)
	if err == nil || !strings.Contains(err.Error(), "no space is left") || !strings.Contains(err.Error(), "the same command continues the import") || strings.Contains(out, "added") {
		t.Errorf("it ends with %v and says %q", err, out)
	}
}
