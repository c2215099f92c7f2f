package config

import (
	"net/url"
	"strings"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// ServerExamples are example addresses of database servers, for error messages.
const ServerExamples = "postgres://user:password@host:5432/database, mongodb://user:password@host:27017/database"

// StoreAddress is the location of the store: "sqlite", "memory", or the address of a PostgreSQL or
// MongoDB database. The address may contain a password, which String omits.
type StoreAddress string

// String returns the address without user name and password.
func (a StoreAddress) String() string {
	if !a.Server() {
		return string(a)
	}
	u, err := url.Parse(string(a))
	if err != nil {
		return a.Kind()
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Kind returns the kind of store: sqlite, memory, postgres or mongodb.
func (a StoreAddress) Kind() string {
	switch {
	case a.Postgres():
		return "postgres"
	case a.Mongo():
		return "mongodb"
	}
	return string(a)
}

// IsPostgres reports whether the store is a PostgreSQL database.
func (a StoreAddress) Postgres() bool { return sqlstore.IsPostgres(string(a)) }

// IsMongo reports whether the store is a MongoDB database.
func (a StoreAddress) Mongo() bool {
	return strings.HasPrefix(string(a), "mongodb://") || strings.HasPrefix(string(a), "mongodb+srv://")
}

// IsServer reports whether the store is a database server, which several processes may share.
func (a StoreAddress) Server() bool { return a.Postgres() || a.Mongo() }

func (a StoreAddress) check() error {
	if a == "sqlite" || a == "memory" || a.Server() {
		return nil
	}
	// The error does not repeat the value, which may be a misspelt address with a password.
	return memory.Errorf(memory.Invalid, "store: invalid value; valid: sqlite, memory, "+ServerExamples)
}
