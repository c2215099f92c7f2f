// Package pgtest starts a PostgreSQL server for the tests of a package, with the machine's
// binaries: Debian's package postgresql is enough. The server is private, reached by a Unix socket
// alone, its files are always removed, and it does not sync them.
//
// With TEST_POSTGRES set to an address it uses that server.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// addressVariable names the server to use; a test binary passes its own to its children.
const addressVariable = "TEST_POSTGRES"

// errNone reports that the machine has no server's binaries.
var errNone = errors.New("PostgreSQL is not tried: install Debian's postgresql, or name a server in " + addressVariable)

// server is the one of this test binary.
var server struct {
	once    sync.Once
	address string
	err     error
	stop    func()
}

// Schemas are reused by later tests: making one with its tables takes far longer than emptying it.
var (
	schemas atomic.Int64
	emptied = make(chan string, 64)
)

// Main runs a package's tests and then stops the server, if any. It returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if server.stop != nil {
		server.stop()
	}
	return code
}

// Address returns a server's address, for tests that make their own schemas. Without one the test
// is skipped.
func Address(t testing.TB) string {
	t.Helper()
	server.once.Do(start)
	if errors.Is(server.err, errNone) {
		t.Skip(server.err)
	}
	if server.err != nil {
		t.Fatalf("start PostgreSQL: %v", server.err)
	}
	return server.address
}

// Fresh returns the address of a schema without tables for one test.
func Fresh(t testing.TB) string {
	t.Helper()
	return With(Address(t), "search_path", create(t))
}

func create(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), schemas.Add(1))
	if _, err := Open(t, server.address).Exec("CREATE SCHEMA " + name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Schema returns the address of a schema for one test, with empty tables or none.
func Schema(t testing.TB) string {
	t.Helper()
	address := Address(t)
	var name string
	select {
	case name = <-emptied:
	default:
		name = create(t)
	}
	t.Cleanup(func() {
		if err := empty(name); err != nil {
			t.Error(err)
			return
		}
		select {
		case emptied <- name:
		default:
		}
	})
	return With(address, "search_path", name)
}

// empty deletes every row except those of migrations.
func empty(name string) error {
	db, err := sql.Open("pgx", server.address)
	if err != nil {
		return err
	}
	_, err = db.Exec(`DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '` + name + `' AND tablename <> 'goose_db_version'
		LOOP EXECUTE 'DELETE FROM ` + name + `.' || quote_ident(t); END LOOP; END $$`)
	return errors.Join(err, db.Close())
}

// With returns the address with one more parameter.
func With(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// socketName is the file of a server's socket, in the folder that is the address's host.
const socketName = ".s.PGSQL.5432"

// Way makes another way to a server for a test: connections to the returned address, at a socket in
// folder, go to carry, with the path of the server's own socket. Without a socket the test is
// skipped.
func Way(t testing.TB, address string, carry func(near net.Conn, server string)) (way, folder string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("host") == "" {
		t.Skip("the server has no socket")
	}
	folder, err = os.MkdirTemp("", "way-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close(); _ = os.RemoveAll(folder) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go carry(near, filepath.Join(u.Query().Get("host"), socketName))
		}
	}()
	return With(address, "host", folder), folder
}

// Open opens a database for a test.
func Open(t testing.TB, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func start() {
	if server.address = os.Getenv(addressVariable); server.address != "" {
		return
	}
	binaries, err := find()
	if err != nil {
		server.err = err
		return
	}
	server.err = run(binaries)
}

// find returns the folder of the newest server's binaries.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNone
	}
	return filepath.Dir(slices.Max(found)), nil
}

// script makes a database and serves it until its standard input ends, when the tests end in
// whatever way.
const script = `set -e
trap '' TERM INT HUP # which whoever ends the tests may send to all
"$1/initdb" -D "$2/data" -U loci -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=300 -c shared_buffers=128MB -c jit=off \
	-c fsync=off -c full_page_writes=off -c max_wal_size=1GB $3 >>"$2/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -INT $pid
wait $pid || true
rm -rf "$2"`

// Settings are additional arguments of the server, for benchmarks that need what tests do without:
// "-c fsync=on".
var Settings string

func run(binaries string) error {
	dir, err := os.MkdirTemp("", "loci-pg-")
	if err != nil {
		return err
	}
	server := exec.Command("sh", "-c", script, "sh", binaries, dir, Settings)
	server.Dir = dir
	if err := asNobody(server, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	open, err := server.StdinPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	stopServer(open, ended)
	return answers("postgres:///postgres?user=loci&host="+url.QueryEscape(dir), filepath.Join(dir, "log"), ended)
}

func stopServer(open io.Closer, ended <-chan struct{}) {
	server.stop = func() { _ = open.Close(); <-ended }
}

// answers waits for the server to take connections.
func answers(address, log string, ended <-chan struct{}) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // not needed any more
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err = db.PingContext(context.Background()); err == nil {
			server.address = address
			return os.Setenv(addressVariable, address) // for the children
		}
		select {
		case <-ended:
			output, _ := os.ReadFile(log) //nolint:gosec // the server's own
			return fmt.Errorf("it ended: %s", strings.TrimSpace(string(output)))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return err
}
