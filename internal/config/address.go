package config

import (
	"net/url"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// StoreAddress is where memory is kept: "sqlite", "memory", or the address of a
// PostgreSQL database, which may hold a password. Printed it shows none.
type StoreAddress string

// String returns the address without what signs in.
func (a StoreAddress) String() string {
	if !a.Postgres() {
		return string(a)
	}
	u, err := url.Parse(string(a))
	if err != nil {
		return a.Kind()
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Kind is the address as anybody may see it: the kind of store alone.
func (a StoreAddress) Kind() string {
	if a.Postgres() {
		return "postgres"
	}
	return string(a)
}

// Postgres reports whether the store is a PostgreSQL database.
func (a StoreAddress) Postgres() bool { return sqlstore.IsPostgres(string(a)) }

func (a StoreAddress) check() error {
	if a == "sqlite" || a == "memory" || a.Postgres() {
		return nil
	}
	// Its words may be a misspelt address, password and all.
	return memory.Errorf(memory.Invalid, "store: this is not possible; valid: sqlite, memory, postgres://user:password@host:5432/database")
}
