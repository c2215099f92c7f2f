// Package pgtest starts a PostgreSQL server for a package's tests. It needs the server's programs, such
// as those of Debian's package postgresql. The server listens only on a Unix socket, does not sync its files,
// and deletes them at the end.
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

// addressVariable is the environment variable for a server's address, which child processes also use.
const addressVariable = "TEST_POSTGRES"

// errNotInstalled reports that PostgreSQL is not installed.
var errNotInstalled = errors.New("skipped without PostgreSQL: install Debian's postgresql, or set a server's address in " + addressVariable)

// server is the server that this test binary started.
var server struct {
	once    sync.Once
	address string
	err     error
	stop    func()
}

// Tests reuse schemas, since creating the tables takes far longer than emptying them.
var (
	schemaCount  atomic.Int64
	emptySchemas = make(chan string, 64)
)

// Main runs a package's tests, stops the server if it was started, and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if server.stop != nil {
		server.stop()
	}
	return code
}

// Address starts the server if needed, and returns the server's address, for tests that create schemas
// themselves. Without PostgreSQL it skips the test.
func Address(t testing.TB) string {
	t.Helper()
	server.once.Do(startServer)
	if errors.Is(server.err, errNotInstalled) {
		t.Skip(server.err)
	}
	if server.err != nil {
		t.Fatalf("start PostgreSQL: %v", server.err)
	}
	return server.address
}

// NewSchema returns the address of a new schema without tables, for one test.
func NewSchema(t testing.TB) string {
	t.Helper()
	return WithParameter(Address(t), "search_path", createSchema(t))
}

func createSchema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), schemaCount.Add(1))
	if _, err := Open(t, server.address).Exec("CREATE SCHEMA " + name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Schema returns the address of a schema, new or reused, for one test. Its tables are empty or missing.
func Schema(t testing.TB) string {
	t.Helper()
	address := Address(t)
	var name string
	select {
	case name = <-emptySchemas:
	default:
		name = createSchema(t)
	}
	t.Cleanup(func() {
		if err := deleteRows(name); err != nil {
			t.Error(err)
			return
		}
		select {
		case emptySchemas <- name:
		default:
		}
	})
	return WithParameter(address, "search_path", name)
}

// deleteRows deletes every row of a schema's tables, except the table of migrations.
func deleteRows(schema string) error {
	db, err := sql.Open("pgx", server.address)
	if err != nil {
		return err
	}
	_, err = db.Exec(`DO $$ DECLARE t text; BEGIN
		FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '` + schema + `' AND tablename <> 'goose_db_version'
		LOOP EXECUTE 'DELETE FROM ` + schema + `.' || quote_ident(t); END LOOP; END $$`)
	return errors.Join(err, db.Close())
}

// WithParameter returns the address with a parameter set.
func WithParameter(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// socketName is the file name of a server's socket. An address contains the socket's folder as its host.
const socketName = ".s.PGSQL.5432"

// Proxy starts a proxy to a server for a test, and returns the proxy's address and its socket's folder.
// It calls forward with each client's connection and the path of the server's socket. If the server has
// no socket, it skips the test.
func Proxy(t testing.TB, address string, forward func(client net.Conn, serverSocket string)) (proxyAddress, socketFolder string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Query().Get("host") == "" {
		t.Skip("the server has no socket")
	}
	socketFolder, err = os.MkdirTemp("", "way-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(socketFolder, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close(); _ = os.RemoveAll(socketFolder) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go forward(client, filepath.Join(u.Query().Get("host"), socketName))
		}
	}()
	return WithParameter(address, "host", socketFolder), socketFolder
}

// Open opens a database, and closes it at the end of the test.
func Open(t testing.TB, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func startServer() {
	if server.address = os.Getenv(addressVariable); server.address != "" {
		return
	}
	binaries, err := findBinaries()
	if err != nil {
		server.err = err
		return
	}
	server.err = runServer(binaries)
}

// findBinaries returns the folder with the programs of the newest installed server.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNotInstalled
	}
	return filepath.Dir(slices.Max(found)), nil
}

// script creates a database and runs the server until standard input closes, at the latest at the end of
// the test process. $1 is the folder of binaries, $2 the folder of data, $3 is Settings.
const script = `set -e
trap '' TERM INT HUP # a terminal may send these to the whole process group
"$1/initdb" -D "$2/data" -U loci -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=300 -c shared_buffers=128MB -c jit=off \
	-c fsync=off -c full_page_writes=off -c max_wal_size=1GB $3 >>"$2/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -INT $pid
wait $pid || true
rm -rf "$2"`

// Settings are further arguments of the server for benchmarks, such as "-c fsync=on".
var Settings string

func runServer(binariesFolder string) error {
	dir, err := os.MkdirTemp("", "loci-pg-")
	if err != nil {
		return err
	}
	server := exec.Command("sh", "-c", script, "sh", binariesFolder, dir, Settings)
	server.Dir = dir
	if err := runUnprivileged(server, dir); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	stdin, err := server.StdinPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	exited := make(chan struct{})
	go func() { _ = server.Wait(); close(exited) }()
	setServerStop(stdin, exited)
	return waitForServer("postgres:///postgres?user=loci&host="+url.QueryEscape(dir), filepath.Join(dir, "log"), exited)
}

func setServerStop(stdin io.Closer, exited <-chan struct{}) {
	server.stop = func() { _ = stdin.Close(); <-exited }
}

// waitForServer waits up to a minute until the server accepts connections, and stores its address.
func waitForServer(address, logPath string, exited <-chan struct{}) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the connection was only for pings
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err = db.PingContext(context.Background()); err == nil {
			server.address = address
			return os.Setenv(addressVariable, address) // for child processes
		}
		select {
		case <-exited:
			output, _ := os.ReadFile(logPath) //nolint:gosec // the log of the server started here
			return fmt.Errorf("the server ended: %s", strings.TrimSpace(string(output)))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return err
}
