package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"

	"github.com/loci-memory/loci/internal/store/mongostore"
	"github.com/loci-memory/loci/internal/store/sqlstore/pgtest"
	"github.com/loci-memory/loci/memory"
)

// serverEnv names the server that is tried, as in mongodb://127.0.0.1:27017. Without it FerretDB
// is, which runs in the test's own process; what that starts finds it there.
const serverEnv = "TEST_MONGODB"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		os.Exit(pgtest.Main(m))
	}
	dir, err := os.MkdirTemp("", "loci-ferret")
	if err != nil {
		fail(err)
	}
	address, stop, err := startFerret(dir, "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	os.Setenv(serverEnv, address)
	code := pgtest.Main(m)
	stop()
	os.RemoveAll(dir)
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startFerret serves what is in a folder at an address until stop is called.
func startFerret(dir, listen string) (address string, stop func(), err error) {
	if strings.HasSuffix(listen, ":0") {
		free, err := net.Listen("tcp", listen)
		if err != nil {
			return "", nil, err
		}
		listen = free.Addr().String()
		free.Close()
	}
	f, err := ferretdb.New(&ferretdb.Config{Listener: ferretdb.ListenerConfig{TCP: listen}, Handler: "sqlite", SQLiteURL: "file:" + dir + "/?_pragma=synchronous(off)", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Run(ctx) }()
	for range 100 {
		c, err := net.DialTimeout("tcp", listen, time.Second)
		if err == nil {
			c.Close()
			return "mongodb://" + listen, func() { cancel(); <-ended }, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	return "", nil, fmt.Errorf("FerretDB does not answer at %s", listen)
}

// database is the address of a database that is a path's own.
func database(path string) string {
	sum := sha256.Sum256([]byte(path))
	server, query, has := strings.Cut(os.Getenv(serverEnv), "?")
	if has {
		query = "?" + query
	}
	return strings.TrimSuffix(server, "/") + "/loci_test_" + hex.EncodeToString(sum[:8]) + query
}

func open(t *testing.T, now func() time.Time) memory.Store {
	return openWith(t, database(t.TempDir()), mongostore.Options{Now: now})
}

func openWith(t *testing.T, address string, o mongostore.Options) *mongostore.Store {
	t.Helper()
	s, err := mongostore.Open(t.Context(), address, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}
