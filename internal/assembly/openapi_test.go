package assembly

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

var update = flag.Bool("update", false, "rewrite generated files")

// get asks a server with these settings and nothing in its memory.
func get(t *testing.T, path string, settings map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	settings["store"] = "memory"
	config, err := config.Load(config.Sources{Flags: settings})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	return w
}

func TestServerAnswersItsDescription(t *testing.T) {
	description, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(get(t, "/openapi.json", map[string]string{}).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(description, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("a server's /openapi.json is not what OpenAPI returns")
	}
}

// TestOperationsAreListed keeps an operation from appearing, changing its name or going unseen.
func TestOperationsAreListed(t *testing.T) {
	description, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(description, &api); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for path, methods := range api.Paths {
		for method, operation := range methods {
			lines = append(lines, strings.ToUpper(method)+" "+path+" "+operation.ID+"\n")
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	const file = "../../docs/operations.txt"
	now := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != now {
		t.Errorf("%s is not what the server has (%v); run `make generate`", file, err)
	}
}
