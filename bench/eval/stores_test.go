package eval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/assembly"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/index/chroma/chromatest"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// stores are the settings of every store and every search of vectors. TEST_MONGODB names the
// server for MongoDB: make unit-mongo brings one.
var stores = []struct {
	name     string
	settings func(testing.TB) map[string]string
}{
	{"sqlite", func(testing.TB) map[string]string { return map[string]string{"store": "sqlite"} }},
	{"memory", func(testing.TB) map[string]string { return map[string]string{"store": "memory"} }},
	{"postgres", func(t testing.TB) map[string]string { return map[string]string{"store": pgtest.NewSchema(t)} }},
	{"pgvector", func(t testing.TB) map[string]string {
		return map[string]string{"store": pgtest.VectorDatabase(t, true), "index.offload_above": "16KiB"}
	}},
	{"chroma", func(t testing.TB) map[string]string {
		return map[string]string{"store": "sqlite", "chroma.url": chromatest.Start(t).URL}
	}},
	{"mongodb", func(t testing.TB) map[string]string {
		server := os.Getenv("TEST_MONGODB")
		if server == "" {
			t.Skip("no server: name one in TEST_MONGODB, or run make unit-mongo")
		}
		return map[string]string{"store": strings.TrimSuffix(server, "/") + "/loci_test_" + strings.ToLower(rand.Text())}
	}},
}

// TestRetrievalIsTheSameOnEveryStore measures the beginning of two conversations of the
// development data as `locibench retrieval` does, over HTTP, on each store.
func TestRetrievalIsTheSameOnEveryStore(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds; run without -short")
	}
	const turns, mostApart = 60, 0.005 // FerretDB takes minutes for more
	set := devSets(t)[0]
	set.Conversations = set.Conversations[:2]
	for i := range set.Conversations {
		set.Conversations[i] = beginning(set.Conversations[i], turns)
	}
	measured := func(t *testing.T, settings map[string]string) Report {
		l := serve(t, settings)
		report, err := Measured(t.Context(), l, set, false, Workers)
		if err != nil || l.Skipped() > 0 {
			t.Fatalf("%v; %d searches went without a part of recall", err, l.Skipped())
		}
		return report
	}
	want := measured(t, stores[0].settings(t))
	t.Logf("%d questions", want.All.Questions)
	if want.All.Recall < 0.5 {
		t.Errorf("recall@10 %.3f: that is too little to compare with", want.All.Recall)
	}
	for _, s := range stores[1:] {
		t.Run(s.name, func(t *testing.T) {
			got := measured(t, s.settings(t))
			for _, f := range []struct {
				name      string
				got, want float64
			}{
				{"recall@10", got.All.Recall, want.All.Recall}, {"MRR@20", got.All.MRR, want.All.MRR},
				{"refusal", got.Refusal, want.Refusal}, {"answered", got.Answered, want.Answered}, {"refused", got.Refused, want.Refused},
			} {
				t.Logf("%s %.4f, on SQLite %.4f", f.name, f.got, f.want)
				if math.Abs(f.got-f.want) > mostApart {
					t.Errorf("%s: got %.4f, want %.4f", f.name, f.got, f.want)
				}
			}
		})
	}
}

// beginning is the first turns of a conversation, and the questions that these answer.
func beginning(c Conversation, turns int) Conversation {
	c.Turns = c.Turns[:turns]
	said := func(ref string) bool { return slices.ContainsFunc(c.Turns, func(t Turn) bool { return t.Ref == ref }) }
	var answered []Question
	for _, q := range c.answerable() {
		if !slices.ContainsFunc(q.Gold, func(ref string) bool { return !said(ref) }) {
			answered = append(answered, q)
		}
	}
	c.Questions = answered
	return c
}

// serve runs a Loci of its own with these settings, for the length of the test.
func serve(t testing.TB, settings map[string]string) *Server {
	t.Helper()
	flags := map[string]string{"data": t.TempDir(), "recall.deadline": "1m", "log.level": "error"}
	maps.Copy(flags, settings)
	config, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	l, err := assembly.Open(t.Context(), config, assembly.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(l.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &Server{URL: server.URL}
	if settings["chroma.url"] != "" {
		s.Settle = func(ctx context.Context) error { return copied(ctx, client.New(s.URL, client.Options{})) }
	}
	return s
}

// copied waits until Chroma has what the store has.
func copied(ctx context.Context, c *client.Client) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		checkup, err := c.Doctor(ctx)
		if err != nil || strings.Contains(fmt.Sprint(checkup.Checked), "the same as the store") {
			return err
		}
	}
	return errors.New("the copy is not as the store")
}
