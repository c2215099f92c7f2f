package assembly

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestUsersWhoHaveVeryMuchAreSearchedByTheDatabase lets everybody with more than sixteen
// memories have very much.
func TestUsersWhoHaveVeryMuchAreSearchedByTheDatabase(t *testing.T) {
	address := pgtest.Vector(t, true)
	server := startServer(t, address, t.TempDir(), "index.huge", "16KiB",
		"recall.deadline", "1m") // a busy machine is no reason for an answer without memory
	health, err := http.Get(server.url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer health.Body.Close()
	if text, err := io.ReadAll(health.Body); err != nil || !strings.Contains(string(text), "pgvector") {
		t.Errorf("health says %s (%v), want that pgvector searches", text, err)
	}
	say := func(words string) string {
		t.Helper()
		return post(t, server.url+"/v1/chat/completions", "ana", fmt.Sprintf(`{"model":"loci/recall","user":"ana","messages":[{"role":"user","content":%q}]}`, words))
	}
	for i := range 20 {
		say(fmt.Sprintf("Remember that box %d holds %s.", i, []string{"lamps", "cups", "books", "shoes"}[i%4]))
	}
	say("Remember that the boat is called Albatross.")
	db := pgtest.Open(t, address)
	for ready := false; !ready && t.Context().Err() == nil; { // each question is answered by the index until then
		if got := say("What is the boat called?"); !strings.Contains(got, "Albatross") {
			t.Fatalf("while the database is made ready: got %s", got)
		}
		var made bool
		if err := db.QueryRow(`SELECT to_regclass('near_state') IS NOT NULL`).Scan(&made); err != nil || !made {
			continue
		}
		if err := db.QueryRow(`SELECT coalesce(bool_and(ready), false) FROM near_state`).Scan(&ready); err != nil {
			t.Fatal(err)
		}
	}
	if got := say("What is the boat called?"); !strings.Contains(got, "Albatross") {
		t.Errorf("by the database: got %s", got)
	}
	say("Remember that the cellar key hangs behind the clock.")
	if got := say("Where does the cellar key hang?"); !strings.Contains(got, "behind the clock") {
		t.Errorf("what was said just now: got %s", got)
	}
	var version, owner int64
	if err := db.QueryRow(`SELECT n.version, o.version FROM near_state n JOIN owners o ON o.owner = n.owner`).Scan(&version, &owner); err != nil || version < 21 {
		t.Errorf("the copy is at version %d of %d (%v): it was not searched", version, owner, err)
	}
}
