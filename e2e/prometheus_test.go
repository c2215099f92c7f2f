package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Where the dashboard and the alerts are that people get.
const (
	dashboardFile = "../deploy/grafana/loci.json"
	alertsFile    = "../deploy/prometheus/alerts.yml"
)

// prometheus is a running Prometheus that scrapes one Loci.
type prometheus struct {
	t   *testing.T
	url string
}

// scraping starts a Prometheus with the alerts. The test is skipped where there is none.
func scraping(t *testing.T, l *loci, key string) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("the dashboard and the alerts are not tried: install Debian's prometheus")
	}
	rules, err := filepath.Abs(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nrule_files: [%q]\nscrape_configs:\n"+
		"  - job_name: loci\n    authorization: {credentials: %q}\n    static_configs: [{targets: [%q]}]\n", rules, key, strings.TrimPrefix(l.url, "http://"))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	cmd := exec.Command(path, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", addr, "--log.level", "warn")
	said := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatalf("start prometheus: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // what it said tells more than its status
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said)
		}
	})
	p := &prometheus{t, "http://" + addr}
	eventually(t, l, "a scrape", patience, func() bool { return p.query(`up{job="loci"} == 1`) > 0 })
	return p
}

// get asks the API and reads its data; false while it does not answer or has an error.
func (p *prometheus) get(path string, into any) bool {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err != nil || json.Unmarshal(body, &answer) != nil || resp.StatusCode == http.StatusServiceUnavailable {
		return false
	}
	if answer.Status != "success" {
		p.t.Fatalf("%s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, into) == nil
}

// query returns how many series an expression has.
func (p *prometheus) query(expr string) int {
	p.t.Helper()
	var data struct{ Result []json.RawMessage }
	p.get("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result)
}

// rule is one alert as Prometheus has it.
type rule struct{ Name, Query, Health, LastError, State string }

func (p *prometheus) rules() (all []rule) {
	p.t.Helper()
	var data struct{ Groups []struct{ Rules []rule } }
	p.get("/api/v1/rules", &data)
	for _, group := range data.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// state returns the state of an alert: inactive, pending or firing.
func (p *prometheus) state(name string) string {
	p.t.Helper()
	for _, r := range p.rules() {
		if r.Name == name {
			return r.State
		}
	}
	p.t.Fatalf("there is no alert %s", name)
	return ""
}

// panels returns the expressions of the dashboard, as Grafana asks them for all replicas.
func panels(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all = append(all, strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m").Replace(target.Expr))
		}
	}
	return all
}

// unseen are metrics of what this test has not: an embedder or reranker, and a part of recall
// that fails.
var unseen = []string{"loci_recall_model_questions_total", "loci_recall_degraded_total"}

// comparison is the end of an alert's expression, which is empty while all is well.
var comparison = regexp.MustCompile(` (==|>) [0-9.]+$`)

func TestDashboardAndAlertsInPrometheus(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err == nil {
		if out, err := exec.Command("promtool", "check", "rules", alertsFile).CombinedOutput(); err != nil {
			t.Fatalf("promtool: %v\n%s", err, out)
		}
	}
	const key = "an-admin-key-of-some-length"
	up := teach(t, life())
	l := serve(t, t.TempDir(), up.learning("LOCI_API_KEY="+key, "LOCI_LEARN_INPUT_PRICE=2")...)
	admin := http.Header{"Authorization": {"Bearer " + key}}
	say := func(text string) int {
		status, _ := l.request(t, http.MethodPost, chatPath, fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":%q}]}`, text), admin.Clone())
		return status
	}
	if status := say(allergy); status != http.StatusOK {
		t.Fatalf("a chat: status %d", status)
	}
	l.settle(t, admin, patience)
	p := scraping(t, l, key)
	// What is counted shows in a rate from its second scrape on.
	say(askAllergy)
	fail := func() {
		up.mu.Lock()
		up.script = []answer{replies(http.StatusServiceUnavailable, nil, `{}`)}
		up.mu.Unlock()
		if status := say("And now?"); status != http.StatusServiceUnavailable {
			t.Errorf("while the upstream fails: status %d", status)
		}
	}
	fail()
	for range 25 {
		l.request(t, http.MethodGet, "/api/memory", nil, http.Header{"Authorization": {"Bearer of-nobody"}})
	}
	say("I have a dog named Rex.")
	l.settle(t, admin, patience)

	for _, expr := range panels(t) {
		if slices.ContainsFunc(unseen, func(name string) bool { return strings.Contains(expr, name) }) {
			p.query(expr)
			continue
		}
		eventually(t, l, "the dashboard's "+expr, patience, func() bool { return p.query(expr) > 0 })
	}
	for _, name := range unseen {
		if !slices.ContainsFunc(panels(t), func(expr string) bool { return strings.Contains(expr, name) }) {
			t.Errorf("no panel asks for %s any more", name)
		}
	}
	rules := p.rules()
	if len(rules) < 8 {
		t.Fatalf("Prometheus has the alerts %+v", rules)
	}
	for _, r := range rules {
		if r.Health != "ok" || r.LastError != "" {
			t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
		}
		seen := comparison.ReplaceAllString(r.Query, "")
		if seen == r.Query {
			t.Errorf("%s compares nothing: %s", r.Name, r.Query)
		}
		eventually(t, l, r.Name+"'s "+seen, patience, func() bool { return p.query(seen) > 0 })
	}

	eventually(t, l, "an alert of refused keys", patience, func() bool { return p.state("LociKeysRefused") == "firing" })
	eventually(t, l, "an alert of upstream errors", patience, func() bool { fail(); return p.state("LociUpstreamErrors") == "pending" })
	for _, quiet := range []string{"LociDown", "LociStoreProblem", "LociDiskProblem", "LociJobsParked", "LociExchangesNotStored"} {
		if is := p.state(quiet); is != "inactive" {
			t.Errorf("%s is %s", quiet, is)
		}
	}
	l.stop(t)
	for begun := time.Now(); p.state("LociDown") != "pending"; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("a server that is down is no alert: %+v", p.rules())
		}
	}
}

// TestAlertsFireAfterTheirTime plays series to the alerts, with promtool.
func TestAlertsFireAfterTheirTime(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("the alerts are not tried: install Debian's prometheus")
	}
	if out, err := exec.Command(path, "test", "rules", "testdata/alerts.yml").CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
