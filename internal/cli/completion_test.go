package cli

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestShellsAreOfferedValues(t *testing.T) {
	s := newStandIn(t, map[string]any{
		"GET /api/keys":    client.Keys{Keys: []client.Key{{ID: "9f2c1a7b", Name: "laptop"}}},
		"GET /api/profile": client.Profile{Entries: []client.Entry{{Key: "timezone"}}},
		"GET /api/changes": client.Changes{Changes: []client.Change{{Run: "run-a", ID: "run-a/2"}, {Run: "run-a", ID: "run-a/1"}, {Run: "run-b", ID: "run-b/1"}}},
	})
	for line, want := range map[string][]string{
		"list --kind ":           {"fact", "summary", "all"},
		"serve --profile cod":    {"coding"},
		"list --set recall.top":  {"recall.top_k="},
		"settings recall.top":    {"recall.top_k\t"},
		"keys remove ":           {"9f2c1a7b\tlaptop"},
		"profile remove ":        {"timezone"},
		"undo --run run-":        {"run-a\t", "run-b\t"},
		"prompts show ext":       {"extract"},
		"pause ":                 {"learning", "memory", "none"},
		"history --action retir": {"retire"},
	} {
		words := strings.Split(line, " ")
		last := words[len(words)-1]
		at := []string{"--addr", strings.TrimPrefix(s.URL, "http://")}
		cmd := newRootCommand()
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		// Global flags go before the word that is completed.
		cmd.SetArgs(append(append([]string{"__complete"}, append(at, words[:len(words)-1]...)...), last))
		err := cmd.ExecuteContext(t.Context())
		for _, w := range want {
			if err != nil || !strings.Contains(out.String(), w) {
				t.Errorf("%s: %v, %q lacks %q", line, err, out.String(), w)
			}
		}
		if strings.Count(out.String(), "run-a") > 1 {
			t.Errorf("%s offers a run twice: %q", line, out.String())
		}
	}
}
