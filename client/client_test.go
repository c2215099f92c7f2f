package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestErrorsCarryTheServersCode(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		want    error // nil: an error without a code
		message string
	}{
		{404, `{"title":"Not Found","status":404,"detail":"there is no memory \"x\"","code":"not_found"}`, memory.NotFound, `there is no memory "x"`},
		{500, `{"title":"Internal Server Error","status":500,"detail":"something went wrong"}`, nil, "something went wrong"},
		{502, `<html>bad gateway</html>`, memory.Unavailable, "the server answered 502: <html>bad gateway</html>"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		_, err := New(server.URL, Options{}).Get(context.Background(), "x")
		server.Close()
		if err == nil || err.Error() != c.message {
			t.Errorf("%d: error %v, want %q", c.status, err, c.message)
		}
		var coded *memory.Error
		if c.want == nil && errors.As(err, &coded) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%d: error %v of another code than %v", c.status, err, c.want)
		}
	}
}
