package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
)

// VectorDatabase creates a database for a test, enables pgvector in it if enablePgvector is set, and
// returns its address. It skips the test if pgvector is not installed.
func VectorDatabase(t testing.TB, enablePgvector bool) string {
	t.Helper()
	admin := Open(t, Address(t))
	var available bool
	if err := admin.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')`).Scan(&available); err != nil {
		t.Fatal(err)
	}
	if !available {
		t.Skip("the server has no pgvector: install it (.ci/pgvector does, on Debian)")
	}
	name := fmt.Sprintf("vector_%d_%d", os.Getpid(), schemaCount.Add(1))
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(server.address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	address := u.String()
	if strings.Contains(u.RawQuery, "dbname=") {
		t.Skip("the server's address contains its database as a parameter")
	}
	if enablePgvector {
		EnablePgvector(t, address)
	}
	return address
}

// EnablePgvector enables pgvector in a database.
func EnablePgvector(t testing.TB, address string) {
	t.Helper()
	if _, err := Open(t, address).Exec("CREATE EXTENSION IF NOT EXISTS vector"); err != nil {
		t.Fatal(err)
	}
}
