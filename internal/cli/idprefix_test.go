package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

// TestTheBeginningOfAnIDNamesIt goes through every command that takes an id, with as much
// of it as tells it apart.
func TestTheBeginningOfAnIDNamesIt(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	var ids []string
	for _, words := range []string{"User plays the oboe", "User has a dog", "User has a cat"} {
		var m client.Memory
		noError(t)(json.Unmarshal([]byte(run("", "add", words, "--json")), &m))
		ids = append(ids, m.ID)
	}
	oboe, dog, cat := shortest(ids[0], ids), shortest(ids[1], ids), shortest(ids[2], ids)

	run("User plays the piano", "edit", oboe, "--content", "User plays the piano")
	editWith(t, `sed -i.bak s/piano/flute/ "$2" && rm "$2.bak"`)
	run("User plays the flute", "edit", oboe)
	run("User plays the flute", "history", oboe)
	run(ids[1]+" follows "+ids[2], "relate", dog, "follows", cat)
	run(ids[2], "relate", dog)
	run("user/ben", "share", dog, "user/ben")
	run("forgot fact "+ids[2], "forget", "--id", cat)
	run("would erase fact "+ids[2], "forget", "--erase", "--id", cat)

	var page client.Changes
	noError(t)(json.Unmarshal([]byte(run("", "history", "--json")), &page))
	var runs []string
	for _, c := range page.Changes {
		if !slices.Contains(runs, c.Run) {
			runs = append(runs, c.Run)
		}
	}
	run(runs[0], "history", "--run", shortest(runs[0], runs))
	run("+ User has a cat", "undo", "--run", shortest(runs[0], runs))
	run("+ User has a cat", "undo", "--change", shortest(runs[0], runs)+"/1", "--yes")

	file := filepath.Join(t.TempDir(), "rules.md")
	noError(t)(os.WriteFile(file, []byte("Shoes stay outside."), 0o600))
	var rules, menu client.ContextDocument
	for title, d := range map[string]*client.ContextDocument{"rules": &rules, "menu": &menu} {
		noError(t)(json.Unmarshal([]byte(run("", "contexts", "add", file, "--title", title, "--json")), d))
	}
	both := []string{rules.ID, menu.ID}
	run("Shoes", "contexts", "show", shortest(rules.ID, both))
	run("House", "contexts", "edit", shortest(rules.ID, both), "--title", "House")
	run("", "add", "--said", "Good morning.")
	var turns client.Memories
	noError(t)(json.Unmarshal([]byte(run("", "list", "--kind", "turn", "--json")), &turns))
	chat := turns.Memories[0].Conversation
	run("attached to "+chat+": "+rules.ID, "contexts", "attach", chat[:len(chat)-2], shortest(rules.ID, both))
	run("Good morning", "list", "--kind", "turn", "--conversation", chat[:len(chat)-2])
	run("removed "+rules.ID, "contexts", "remove", shortest(rules.ID, both))

	var key client.MadeKey
	noError(t)(json.Unmarshal([]byte(run("", "keys", "add", "laptop", "--admin", "--json")), &key))
	run("removed "+key.ID, "keys", "remove", key.ID[:6])

	waits := filepath.Join(t.TempDir(), "waits.jsonl")
	noError(t)(os.WriteFile(waits, []byte(`{"type":"fact","id":"0199feed-beef","content":"User likes tea","status":"pending","source":"extracted","trust":"user","created_at":"2026-01-02T03:04:05Z","observed_at":"2026-01-02T03:04:05Z"}`), 0o600))
	run("1 fact", "import", waits)
	run("approved 0199feed-beef", "review", "--approve", "0199feed")
}

// shortest returns the least of an id that tells it from all others, and is no less than
// stands for one.
func shortest(id string, all []string) string {
	for n := minPrefixLength; n < len(id); n++ {
		if !slices.ContainsFunc(all, func(other string) bool { return other != id && strings.HasPrefix(other, id[:n]) }) {
			return id[:n]
		}
	}
	return id
}

// TestWhatMayBeAnyOfSomeIsNone: where a beginning does not tell, what it may be is listed
// and nothing is done.
func TestWhatMayBeAnyOfSomeIsNone(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	file := filepath.Join(data, "facts.jsonl")
	lines := `{"type":"header","format":"loci","version":1}` + "\n"
	for _, id := range []string{"abcd1", "abcd12", "abcd123", "abcd2"} {
		lines += fmt.Sprintf(`{"type":"fact","id":%q,"content":"User owns boat %s","status":"active","source":"manual","trust":"person","created_at":"2026-01-02T03:04:05Z","observed_at":"2026-01-02T03:04:05Z"}`+"\n", id, id)
	}
	noError(t)(os.WriteFile(file, []byte(lines), 0o600))
	run("4 facts", "import", file)
	for _, args := range [][]string{
		{"edit", "abcd", "--pin"}, {"forget", "--id", "abcd"}, {"forget", "--id", "abcd2", "--id", "abcd"},
		{"relate", "abcd2", "refines", "abcd"}, {"share", "abcd", "user/ben"}, {"history", "abcd"}, {"review", "--approve", "abcd"},
	} {
		out, err := tryAt(t, data, "sqlite", args...)
		for _, want := range []string{"write more characters of one of these", "abcd1 ", "abcd12 ", "abcd123 ", "User owns boat abcd2"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("loci %v: %q %v, want an error with %q", args, out, err, want)
			}
		}
	}
	run("forgot fact abcd1 ", "forget", "--id", "abcd1") // it is one, whatever else begins so
	if out, err := tryAt(t, data, "sqlite", "forget", "--id", "abc"); err == nil || !strings.Contains(err.Error(), "there is no memory abc") {
		t.Errorf("three characters of an id: %q %v, want that they are none", out, err)
	}
	run("abcd2", "list")
	run("abcd12", "list")
}

// TestARunIsFoundWithoutItsJournal: however much one run changed, one page tells of it.
func TestARunIsFoundWithoutItsJournal(t *testing.T) {
	s := newStandIn(t, map[string]any{})
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.got = append(s.got, r.URL.String())
		out := client.Changes{Changes: []client.Change{}}
		if r.URL.Query().Get("runs") == "run-a" {
			out.Changes = append(out.Changes, client.Change{ID: "run-abc/1", Run: "run-abc"})
		}
		_ = json.NewEncoder(w).Encode(out)
	})
	start := "run-a"
	if err := completeRunID(t.Context(), client.New(s.URL, client.Options{}), &start); err != nil || start != "run-abc" || len(s.got) != 2 {
		t.Errorf("it is %s, %v, after %q; want run-abc after two questions", start, err, s.got)
	}
}
