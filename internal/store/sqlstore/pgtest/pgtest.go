// Package pgtest starts a PostgreSQL server for a package's tests, with installed binaries, for
// example of Debian's package postgresql. The server is private: it listens only on a Unix socket,
// does not sync its files, and removes them at the end.
//
// If TEST_POSTGRES is set to an address, the tests use that server instead.
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

// addressVariable names the server to use. A test binary sets it for its child processes.
const addressVariable = "TEST_POSTGRES"

// errNone reports that no PostgreSQL binaries are installed.
var errNone = errors.New("PostgreSQL is not tried: install Debian's postgresql, or name a server in " + addressVariable)

// server is the server that this test binary started.
var server struct {
	once    sync.Once
	address string
	err     error
	stop    func()
}

// Later tests reuse schemas: creating the tables takes far longer than emptying them.
var (
	schemas atomic.Int64
	emptied = make(chan string, 64)
)

// Main runs a package's tests, stops the server if it was started, and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if server.stop != nil {
		server.stop()
	}
	return code
}

// Address returns the server's address, for tests that create their own schemas. Without a server
// the test is skipped.
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

// Fresh returns the address of a schema without tables, for one test.
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

// Schema returns the address of a schema for one test. Its tables are empty or missing.
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

// With returns the address with an additional parameter.
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

// Way creates a proxy to a server for a test. It listens on a socket in folder, and passes each
// connection and the path of the server's own socket to carry. If the server has no socket, the
// test is skipped.
func Way(t testing.TB, address string, carry func(near net.Conn, server string)) (way, folder string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("host") == "" {
		t.Skip("the server has no socket")
	}
	folder, err = os.MkdirTemp("", "way-") // a socket's path must be short
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

// script creates a database and serves it until its standard input closes, which happens whenever
// the test process ends.
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

// Settings are additional server arguments for benchmarks, such as "-c fsync=on".
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

// answers waits until the server accepts connections.
func answers(address, log string, ended <-chan struct{}) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the connection is not needed any more
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err = db.PingContext(context.Background()); err == nil {
			server.address = address
			return os.Setenv(addressVariable, address) // for child processes
		}
		select {
		case <-ended:
			output, _ := os.ReadFile(log) //nolint:gosec // the log of the server started here
			return fmt.Errorf("the server ended: %s", strings.TrimSpace(string(output)))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return err
}
