package learn

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/memory"
)

// sharedData returns the development data, or skips.
func sharedData(t *testing.T, path string) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("LOCI_SHARED"), "../../shared", "../../../shared", "../../../../shared"} {
		if dir != "" {
			if found, _ := filepath.Glob(filepath.Join(dir, path)); len(found) > 0 {
				return filepath.Join(dir, path)
			}
		}
	}
	t.Skipf("no development data %s; set LOCI_SHARED to the folder that holds data/", path)
	return ""
}

// monday is the time of these tests' turns.
var monday = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

// saying returns a guarded turn of the user.
func saying(content string) []extract.Utterance {
	return Guard([]memory.Turn{{
		ID: "T", Owner: "default/user/ana", Conversation: "C", Role: memory.RoleUser,
		Content: content, CreatedAt: monday, Status: memory.Active,
	}}, GuardOptions{})
}

// reading returns the rules' candidates after the filter.
func reading(utterances []extract.Utterance) []extract.Candidate {
	kept, _ := Filter(extract.FactsByRules(utterances), utterances)
	return kept
}

// learned returns the rules' facts after the filter.
func learned(content string) string {
	utterances := saying(content)
	var out []string
	for _, c := range reading(utterances) {
		fact := c.Text
		if c.ReviewReason != "" {
			fact += " [waits: " + c.ReviewReason + "]"
		}
		out = append(out, fact)
	}
	return strings.Join(out, "; ")
}

var update = flag.Bool("update", false, "write what is found into the golden files")
