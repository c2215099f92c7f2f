package assembly

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
)

// TestVectorsOfUsersWhoHaveVeryMuchAreOffloaded lets everybody with more than sixteen
// memories have very much.
func TestVectorsOfUsersWhoHaveVeryMuchAreOffloaded(t *testing.T) {
	address := pgtest.Vector(t, true)
	server := startServer(t, address, t.TempDir(), "index.offload_above", "16KiB",
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
	for range 3 { // the first finds how much there is
		if got := say("What is the boat called?"); !strings.Contains(got, "Albatross") {
			t.Errorf("got %s", got)
		}
	}
	say("Remember that the cellar key hangs behind the clock.")
	if got := say("Where does the cellar key hang?"); !strings.Contains(got, "behind the clock") {
		t.Errorf("what was said just now: got %s", got)
	}
}
