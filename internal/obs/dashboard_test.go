package obs

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDashboardShowsMetricsThatExist reads the questions of the dashboard that is
// handed out, and asks the registry for each name in them.
func TestDashboardShowsMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/loci.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	m := NewMetrics()
	m.Watch(Sources{})
	known := names(m.registry)
	shown := map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, m := range regexp.MustCompile(`([a-z][a-z0-9_]*)\{`).FindAllStringSubmatch(target.Expr, -1) {
				name := m[1]
				for _, part := range []string{"_bucket", "_count", "_sum"} {
					if base, ok := strings.CutSuffix(name, part); ok && slices.Contains(known, base) {
						name = base
					}
				}
				if !slices.Contains(known, name) {
					t.Errorf("panel %q asks for %s, which is not a metric", panel.Title, name)
				}
				shown[name] = true
			}
		}
	}
	guide, err := os.ReadFile("../../docs/guide/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`^(loci_|memory_total_count$|memory_replacement_rate$|memory_dedup_rate$|retrieval_hit_rate$)`)
	for _, name := range known {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
		if !strings.Contains(string(guide), "| `"+name+"` |") || !own.MatchString(name) {
			t.Errorf("the guide does not list %s, or it lacks its prefix", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:loci|memory|retrieval)_\\w+)` \\|").FindAllStringSubmatch(string(guide), -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("the guide lists %s, which is not a metric", m[1])
		}
	}
}

// names returns what the registry holds, used or not.
func names(r *prometheus.Registry) []string {
	described := make(chan *prometheus.Desc, 1000)
	r.Describe(described)
	close(described)
	var all []string
	for d := range described {
		if m := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String()); m != nil {
			all = append(all, m[1])
		}
	}
	return all
}
