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
	config := try(config.Load(config.Sources{Flags: settings})).orFail(t)
	l := try(Open(context.Background(), config, Options{})).orFail(t)
	defer l.Close()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	return w
}

func TestServerAnswersItsDescription(t *testing.T) {
	description := try(OpenAPI()).orFail(t)
	var got, want any
	noError(t)(json.Unmarshal(get(t, "/openapi.json", map[string]string{}).Body.Bytes(), &got))
	noError(t)(json.Unmarshal(description, &want))
	if !reflect.DeepEqual(got, want) {
		t.Error("a server's /openapi.json is not what OpenAPI returns")
	}
}

// TestOperationsAreListed keeps an operation from appearing, changing its name or going unseen.
func TestOperationsAreListed(t *testing.T) {
	description := try(OpenAPI()).orFail(t)
	var api struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	noError(t)(json.Unmarshal(description, &api))
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
		noError(t)(os.WriteFile(file, []byte(now), 0o644))
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != now {
		t.Errorf("%s is not what the server has (%v); run `make generate`", file, err)
	}
}
