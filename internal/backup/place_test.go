package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// TestPlacesKeepWholeFiles puts files of one and of several parts into each kind of place.
func TestPlacesKeepWholeFiles(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("loci"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	for kind, address := range map[string]string{
		"folder": t.TempDir(), "S3": "s3://K:S@" + strings.TrimPrefix(server.URL, "http://") + "/loci?tls=false", "S3 prefix": "s3://K:S@" + strings.TrimPrefix(server.URL, "http://") + "/loci/a/b/?tls=false",
	} {
		t.Run(kind, func(t *testing.T) {
			p, err := openDestination(address)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"loci-2026-01-02T03-04-05Z.zip", "loci-2026-01-02T03-04-06Z.zip.age"}
			for i, name := range slices.Backward(want) {
				data := make([]byte, 10+i*(20<<20))
				_, _ = rand.Read(data)
				file := filepath.Join(t.TempDir(), "f")
				if err := os.WriteFile(file, data, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := p.upload(t.Context(), name, madeOf(t, file)); err != nil {
					t.Fatal(err)
				}
				got, err := p.fetch(t.Context(), name, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if text, err := os.ReadFile(got); err != nil || !bytes.Equal(text, data) {
					t.Errorf("%s came back as %d bytes, %v; want %d", name, len(text), err, len(data))
				}
			}
			if names, err := p.list(t.Context()); err != nil || !slices.Equal(names, want) {
				t.Errorf("listed %q, %v", names, err)
			}
			if err := p.remove(t.Context(), want[0]); err != nil {
				t.Error(err)
			}
			if names, err := p.list(t.Context()); err != nil || !slices.Equal(names, want[1:]) {
				t.Errorf("listed %q, %v", names, err)
			}
			if shown := p.displayPath("x"); strings.Contains(shown, "K:S") || strings.Contains(shown, "tls") {
				t.Errorf("shown as %s", shown)
			}
		})
	}
}

func madeOf(t *testing.T, file string) *tempBackup {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return &tempBackup{File: f, Size: info.Size()}
}

// TestUploadThatEndsInTheMiddleIsNoBackup cuts an upload of several parts off.
func TestUploadThatEndsInTheMiddleIsNoBackup(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("loci"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	fake, parts := gofakes3.New(backend).Server(), atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("partNumber") && parts.Add(1) == 2 {
			stop()
			panic(http.ErrAbortHandler)
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	p, err := openDestination("s3://K:S@" + strings.TrimPrefix(server.URL, "http://") + "/loci?tls=false")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.upload(ctx, "loci-2026-01-02T03-04-05Z.zip", madeOf(t, file)); err == nil {
		t.Error("it went well")
	}
	if names, err := p.list(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("listed %q, %v", names, err)
	}
}
