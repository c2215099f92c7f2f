package assembly

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/index/chroma/chromatest"
	"github.com/loci-memory/loci/internal/model/embed"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// TestChatsGoOnWithoutChroma starts before its Chroma server does, loses it, its collection and
// itself, and has the doctor say what is wrong.
func TestChatsGoOnWithoutChroma(t *testing.T) {
	chroma := chromatest.Start(t)
	chroma.Stop(t)
	s := newStage(t, "coding", map[string]string{"store": "sqlite", "chroma.url": chroma.URL, "learn.model": ""})
	said := func(when string) {
		t.Helper()
		if got, _ := s.talk().says("What is my boat called?"); !strings.Contains(got.body, "Albatross") {
			t.Errorf("%s: the prompt has no memory: %s", when, got.body)
		}
	}
	finds := func(want string) {
		t.Helper()
		var last string
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			checkup := try(s.loci.Doctor(t.Context(), false)).orFail(t)
			if last = fmt.Sprint(checkup.Findings, checkup.Checked); strings.Contains(last, want) {
				return
			}
		}
		t.Errorf("the doctor says %s, want %q", last, want)
	}
	s.remember(nil, "My boat is called Albatross")
	said("before it runs")
	finds("Chroma does not answer")
	if health := s.ok(nil, http.MethodGet, "/health", ""); !strings.Contains(health, "Chroma for vectors") {
		t.Errorf("health says %s", health)
	}
	chroma.Restart(t)
	finds("the same as the store")
	said("once it runs")

	name := s.loci.chroma.Name()
	r := try(http.NewRequestWithContext(t.Context(), http.MethodDelete, chroma.URL+"/api/v2/tenants/default_tenant/databases/default_database/collections/"+name, nil)).orFail(t)
	answer := try(http.DefaultClient.Do(r)).orFail(t)
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	said("without its collection")
	finds("the same as the store")
	chroma.Stop(t)
	said("when it is gone")
	s.remember(nil, "My cat is called Nutmeg")
	chroma.Restart(t)
	finds("the same as the store")
	said("in the end")
}

// TestServersShareOneChroma has two servers on one database and one Chroma server find what the
// other was told, and one of them erase a user whose vectors the other knows.
func TestServersShareOneChroma(t *testing.T) {
	address, chroma := pgtest.NewSchema(t), chromatest.Start(t)
	var servers [2]*oneServer
	for i := range servers {
		servers[i] = startServer(t, address, t.TempDir(), "chroma.url", chroma.URL, "recall.deadline", "1m")
	}
	remember := func(server *oneServer, user, words string) {
		t.Helper()
		noError(t)(client.New(server.url, client.Options{User: user}).Add(t.Context(), client.AddMemory{Content: words}))
	}
	near := func(server *oneServer, user string) int {
		t.Helper()
		question := try(embed.Lexical{}.Embed(t.Context(), memory.AsQuestion, "What does the stone look like?")).orFail(t)
		found := try(server.chroma.Nearest(t.Context(), memory.User(memory.DefaultNamespace, user), "", question[0], nil, 10)).orFail(t)
		return len(found)
	}
	for i, words := range []string{"The stone looks qwertolm", "The bird looks vbnolkum"} {
		remember(servers[i], "ana", words)
		remember(servers[i], "ben", words)
		other := servers[1-i]
		other.find(strings.Fields(words)[3])
		for _, user := range []string{"ana", "ben"} {
			waitFor(t, "the vector of what the other server was told", func() bool { return near(other, user) == i+1 })
		}
	}
	noError(t)(client.New(servers[0].url, client.Options{}).EraseUser(t.Context(), "ana"))
	count := func(user string) int {
		return chroma.Records(t, servers[0].chroma.Name(), string(memory.User(memory.DefaultNamespace, user)))
	}
	waitFor(t, "the vectors to leave the Chroma server", func() bool { return count("ana") == 0 })
	if n := near(servers[1], "ana"); n > 0 {
		t.Errorf("the other server finds %d vectors of ana", n)
	}
	if n := count("ana"); n > 0 {
		t.Errorf("after the other server looked, %d vectors of ana are there", n)
	}
	if a, b, there := near(servers[0], "ben"), near(servers[1], "ben"), count("ben"); a != 2 || b != 2 || there != 2 {
		t.Errorf("ben: the servers find %d and %d of %d vectors, want 2", a, b, there)
	}
}

func TestErasureNamesChromaThatIsAway(t *testing.T) {
	l := openWith(t, map[string]string{"chroma.url": "http://127.0.0.1:1", "users": "multi"})
	server := httptest.NewServer(l.Handler())
	defer server.Close()
	ana := client.New(server.URL, client.Options{User: "ana"})
	var ids []string
	for _, words := range []string{"User plays the oboe", "User has a boat"} {
		made, _, err := ana.Add(t.Context(), client.AddMemory{Content: words})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.ID)
	}
	one := try(ana.Forget(t.Context(), client.ForgetRequest{IDs: ids[:1], Erase: true})).orFail(t)
	all := try(ana.EraseUser(t.Context(), "ana")).orFail(t)
	for what, held := range map[string][]string{"one memory": one.TextRemainsIn, "a user": all.TextRemainsIn} {
		if !slices.ContainsFunc(held, func(h string) bool { return strings.Contains(h, "Chroma") }) {
			t.Errorf("%s: got %q, want the Chroma server named", what, held)
		}
	}
}

func TestChromaSettingsAreChecked(t *testing.T) {
	for want, flags := range map[string]map[string]string{
		"chroma.url":                      {"chroma.url": "localhost:8000"},
		"chroma.collection: invalid name": {"chroma.collection": "a b"},
	} {
		if _, err := config.Load(config.Sources{Flags: flags}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", flags, err, want)
		}
	}
}
