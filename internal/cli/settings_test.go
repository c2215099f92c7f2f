package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestSettingsAreListed(t *testing.T) {
	data := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		return try(tryAt(t, data, "sqlite", args...)).orFail(t)
	}
	all := run("settings", "--set", "recall.top_k=5")
	for _, want := range []string{"recall.top_k", "5", "flag", "loci settings WORD"} {
		if !strings.Contains(all, want) {
			t.Errorf("all of them: %s, want %q", all, want)
		}
	}
	if one := run("settings", "TOP_K"); !strings.Contains(one, "LOCI_RECALL_TOP_K") || !strings.Contains(one, "recall.top_k  -1  (default)") || strings.Contains(one, "recall.budget") {
		t.Errorf("one: %s", one)
	}
	var told struct{ Settings []client.Setting }
	if err := json.Unmarshal([]byte(run("settings", "upstream", "--json")), &told); err != nil || len(told.Settings) < 2 || told.Settings[0].Env != "LOCI_UPSTREAM_URL" {
		t.Errorf("for programs: %+v, %v", told, err)
	}
	if _, err := tryAt(t, data, "sqlite", "settings", "nothing-like-it"); err == nil {
		t.Error("a word that is in no name: no error")
	}
	out, err := tryAt(t, data, "sqlite", "settings", "top_k", "--set", "top_k=3") // whoever looks for the name
	if err == nil || !strings.Contains(err.Error(), "did you mean recall.top_k?") || !strings.Contains(out, "recall.top_k") {
		t.Errorf("with one that is none: %s, %v", out, err)
	}
}
