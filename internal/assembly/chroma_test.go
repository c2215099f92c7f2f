package assembly

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestErasureNamesChromaThatIsAway(t *testing.T) {
	l := openWith(t, map[string]string{"index.search": "chroma", "chroma.url": "http://127.0.0.1:1", "users": "multi"})
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
	one, err := ana.Forget(t.Context(), client.ForgetRequest{IDs: ids[:1], Erase: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := ana.EraseUser(t.Context(), "ana")
	if err != nil {
		t.Fatal(err)
	}
	for what, held := range map[string][]string{"one memory": one.Held, "a user": all.Held} {
		if !slices.ContainsFunc(held, func(h string) bool { return strings.Contains(h, "Chroma") }) {
			t.Errorf("%s: got %q, want the Chroma server named", what, held)
		}
	}
}
