package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci/memory"
)

// secrets are what no log line may show.
var secrets = []string{
	"sk-proj-abcdefghijklmnop1234", "gsk_abcdefghijklmnop1234", "correct.horse/battery+staple=",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmEifQ.c2lnbmF0dXJl",
}

func TestNoSecretInTheLog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		for _, secret := range secrets {
			var out bytes.Buffer
			log, err := NewLogger(&out, format, slog.LevelDebug)
			if err != nil {
				t.Fatal(err)
			}
			log.Info("asked with Bearer "+secret,
				"Authorization", secret,
				"api_key", secret,
				"upstream-key", secret,
				"x-loci-key", secret,
				"LOCI_API_KEY", secret,
				"password", secret,
				"header", "Bearer "+secret,
				"line", "Authorization: Basic "+secret,
				"error", errors.New("401: Authorization: bearer "+secret),
				"url", &url.URL{Scheme: "postgres", User: url.UserPassword("loci", secret), Host: "db"},
				slog.Group("request", "token", secret))
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s log shows %q: %s", format, secret, &out)
			}
		}
	}
}

func TestHarmlessTextStays(t *testing.T) {
	for _, s := range []string{
		"User prefers a basic setup", "bearer of bad news", "a bearer certificate", "User has a basic understanding of Go", "skateboarding-competitions", "GET /v1/models 200", "http://localhost:11434/v1",
		"the key of the profile entry is timezone", "0197a3c4-7d2e-7000-8000-000000000001", "default/user/ana",
	} {
		if got := Redact(s); got != s {
			t.Errorf("Redact(%q) = %q", s, got)
		}
	}
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("too quiet")
	log.Info("m", "key", "timezone", "tokens", 12, "took", time.Second)
	for _, want := range []string{`"key":"timezone"`, `"tokens":12`} {
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "too quiet") {
			t.Errorf("log lacks %s: %s", want, &out)
		}
	}
	if _, err := NewLogger(&out, "xml", nil); !errors.Is(err, memory.Invalid) {
		t.Errorf("format xml: %v, want invalid", err)
	}
}

// TestDecisionLineHasTheDesignsFields: the line has design 3's fields under its names.
func TestDecisionLineHasTheDesignsFields(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	MemoryDecision{
		UserID: "ana", InputMessageLength: 150, ExtractedCount: 3,
		Decisions: []Decision{
			{Fact: "User likes Bun", Action: "add"},
			{Fact: "User moved to Node", Action: "replace", TargetID: "123"},
			{Fact: "User is a dev", Action: "ignore", Reason: "redundant"},
		},
	}.LogTo(context.Background(), log)
	MemoryDecision{UserID: "ana"}.LogTo(context.Background(), log)

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []map[string]any{
		{
			"event": "memory_decision", "user_id": "ana", "input_message_length": 150., "extracted_count": 3.,
			"decisions": []any{
				map[string]any{"fact": "User likes Bun", "action": "add"},
				map[string]any{"fact": "User moved to Node", "action": "replace", "target_id": "123"},
				map[string]any{"fact": "User is a dev", "action": "ignore", "reason": "redundant"},
			},
		},
		{"event": "memory_decision", "user_id": "ana", "input_message_length": 0., "extracted_count": 0., "decisions": []any{}},
	}
	for i, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if got["msg"] != "memory_decision" || got["time"] == nil {
			t.Errorf("line %q lacks its message or time", line)
		}
		delete(got, "time")
		delete(got, "level")
		delete(got, "msg")
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestDecisionLineForPeopleHasJSON: in a log of text the decisions are JSON within the
// line, which is quoted as all values with spaces are.
func TestDecisionLineForPeopleHasJSON(t *testing.T) {
	for _, c := range []struct {
		decisions []Decision
		want      string
	}{
		{[]Decision{{Fact: "User likes <b>Bun</b> & \"Node\"", Action: "add"}, {Fact: "User is a dev", Action: "ignore", Reason: "redundant"}},
			`[{"fact":"User likes <b>Bun</b> & \"Node\"","action":"add"},{"fact":"User is a dev","action":"ignore","reason":"redundant"}]`},
		{nil, `[]`},
	} {
		var out bytes.Buffer
		log, err := NewLogger(&out, "text", slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		MemoryDecision{UserID: "ana", Decisions: c.decisions}.LogTo(context.Background(), log)
		_, got, found := strings.Cut(strings.TrimSpace(out.String()), " decisions=")
		if plain, err := strconv.Unquote(got); err == nil {
			got = plain
		}
		if !found || got != c.want || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("the line is %s; want decisions of %s", &out, c.want)
		}
	}
}

func TestDecisionLineHidesSecrets(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, "json", slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	d := MemoryDecision{Decisions: []Decision{{Fact: "User's key is " + secrets[0], Action: "add"}}}
	d.LogTo(context.Background(), log)
	if strings.Contains(out.String(), secrets[0]) || !strings.Contains(d.Decisions[0].Fact, secrets[0]) {
		t.Errorf("log %s; decision %+v; want the first without the secret and the second as it was", &out, d)
	}
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("/metrics: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetricsCount(t *testing.T) {
	now := time.Date(2026, 5, 3, 14, 0, 0, 0, time.UTC)
	m := NewMetrics()
	m.Watch(Sources{
		Totals: func(context.Context) (memory.Counts, error) {
			return memory.Counts{Facts: 3, Turns: 4, Summaries: 1, Pending: 9}, nil
		},
		Jobs: func(context.Context) (memory.Counts, error) {
			return memory.Counts{JobsQueued: 2, JobsParked: 1, JobsDue: now.Add(-time.Minute)}, nil
		},
		Parts: []string{"store", "disk"}, Problems: func(context.Context) []string { return []string{"disk"} },
		Pools: func() []Pool { return []Pool{{Name: "read", Busy: 2, Size: 8}} },
		Now:   func() time.Time { return now },
	})
	m.ObserveRequest("POST", "/v1/chat/completions", 200, 3*time.Millisecond, 11, 4)
	m.ObserveRequest("BREW", "other", 404, time.Millisecond, 0, 0)
	m.ObserveUpstream("failed", time.Second)
	m.CountRefused("limits.tokens")
	m.CountRefused("")
	m.ObserveStage("search", time.Now())
	m.ObserveCore(120)
	m.ObserveWriteWait(time.Millisecond)
	m.CountDecisions(MemoryDecision{Decisions: []Decision{{Action: "add"}, {Action: "add"}, {Action: "add"}, {Action: "replace"}, {Action: "ignore", Reason: ReasonRedundant}, {Action: "ignore", Reason: "a question"}}})
	m.CountRecordFailure()
	m.ObserveRecall(2*time.Millisecond, "vectors", "deadline")
	m.ObserveRecall(time.Microsecond)
	m.ObserveFirstByte(time.Millisecond)
	m.CountLearnRun("rules")
	m.CountRetrieved(8, 2)
	m.CountJob(memory.JobLearn, "parked")

	got := scrape(t, m)
	for _, want := range []string{
		`memory_total_count{kind="fact"} 3`, `memory_total_count{kind="turn"} 4`, `memory_total_count{kind="summary"} 1`,
		"memory_replacement_rate 0.25",
		"memory_dedup_rate 0.2",
		"retrieval_hit_rate 0.25",
		`decisions_total{action="add"} 3`,
		"record_failed_total 1",
		"recall_seconds_count 2",
		`recall_seconds_bucket{le="0.001"} 1`,
		`recall_stage_seconds_count{stage="search"} 1`, "core_tokens_sum 120",
		`http_request_seconds_count{method="POST",route="/v1/chat/completions",status="200"} 1`,
		`http_request_seconds_count{method="other",route="other",status="404"} 1`,
		`chat_tokens_total{side="input"} 11`, `chat_tokens_total{side="output"} 4`,
		`upstream_seconds_count{end="failed"} 1`,
		`refused_total{reason="limits.tokens"} 1`, `refused_total{reason="key"} 0`,
		`jobs{state="queued"} 2`, `jobs{state="parked"} 1`, "oldest_job_seconds 60",
		"write_wait_seconds_count 1", `store_connections{of="busy",pool="read"} 2`,
		`problem{part="disk"} 1`, `problem{part="store"} 0`, "build_info{",
		`recall_degraded_total{part="vectors"} 1`,
		"first_byte_overhead_seconds_count 1",
		`learn_runs_total{end="rules"} 1`,
		`jobs_ended_total{end="parked",kind="learn"} 1`,
		"go_goroutines ",
	} {
		if !strings.HasPrefix(want, "go_") && !strings.HasPrefix(want, "memory_") && !strings.HasPrefix(want, "retrieval_") {
			want = "loci_" + want
		}
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	if r := m.Rates(); r != (Rates{Replacement: .25, Dedup: .2, Hit: .25}) {
		t.Errorf("rates %+v", r)
	}
}

func TestMetricsOutliveAFailingStore(t *testing.T) {
	m := NewMetrics()
	down := func(context.Context) (memory.Counts, error) { return memory.Counts{}, errors.New("down") }
	m.Watch(Sources{Totals: down, Jobs: down, Problems: func(context.Context) []string { return nil }})
	if got := scrape(t, m); strings.Contains(got, "\nmemory_total_count") || !strings.Contains(got, "memory_dedup_rate 0") {
		t.Errorf("/metrics without a store: %s", got)
	}
}

func TestNobodyNeedsMetrics(t *testing.T) {
	var m *Metrics
	m.CountDecisions(MemoryDecision{Decisions: []Decision{{Action: "add"}}})
	m.CountRecordFailure()
	m.ObserveRecall(time.Second, "x")
	m.ObserveFirstByte(time.Second)
	m.CountLearnRun("x")
	m.CountRetrieved(1, 1)
	m.CountJob(memory.JobLearn, "done")
	m.ObserveRequest("GET", "/", 200, 0, 0, 0)
	m.CountRefused("key")
	m.ObserveStage("search", time.Time{})
	m.ObserveCore(1)
	m.ObserveWriteWait(0)
	if r := m.Rates(); r != (Rates{}) {
		t.Errorf("rates of nothing: %+v", r)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 404 {
		t.Errorf("/metrics of nothing: %d, want 404", w.Code)
	}
}
