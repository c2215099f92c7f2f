package loci

//go:generate go test -run TestOpenAPIIsUpToDate -update .

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// get asks a server with these settings and nothing in its memory.
func get(t *testing.T, path string, settings map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	settings["store"] = "memory"
	config, err := LoadConfig(Sources{Flags: settings})
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

func TestOpenAPIIsUpToDate(t *testing.T) {
	w := get(t, "/openapi.json", map[string]string{})
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.Replace(w.Body.Bytes(), []byte(`"version":"`+Version()+`"`), []byte(`"version":"`+release+`"`), 1), "", "  "); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	const file = "openapi.json"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the server says (%v); run `make generate`", file, err)
	}
}
