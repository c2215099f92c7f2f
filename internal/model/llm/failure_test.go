package llm

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTroubleHasNoAddress lets a server fail in several ways.
func TestTroubleHasNoAddress(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	silent.Config.ErrorLog = nil
	defer silent.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct{ url, want string }{
		{gone.URL, "refused the connection"}, {silent.URL, "closed the connection"}, {secure.URL, "certificate"}, {strings.Replace(gone.URL, "http:", "https:", 1), "refused the connection"},
		{strings.Replace(silent.URL, "http:", "https:", 1), "does not speak TLS"}, {"http://no-such-host.invalid", "name was not found"},
	} {
		f, err := NewForwarder(Options{BaseURL: c.url + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Do(t.Context(), http.MethodPost, "/chat/completions", nil, strings.NewReader("{}"))
		f.Close()
		if err == nil {
			t.Fatalf("%s answered", c.url)
		}
		got, host := DescribeFailure(err), strings.Split(c.url, "/")[2]
		if !strings.Contains(got, c.want) || strings.Contains(got, host) || strings.Contains(got, "127.0.0.1") {
			t.Errorf("%s: %q of %v, want %q", c.url, got, err, c.want)
		}
	}
	odd := errors.Join(&net.OpError{Op: "read", Err: errors.New("127.0.0.1 is odd")}, io.ErrClosedPipe)
	if got := DescribeFailure(odd); strings.Contains(got, "127.0.0.1") {
		t.Errorf("%q has the address", got)
	}
}
