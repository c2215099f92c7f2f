package config

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/loci-memory/loci/internal/store/sqlstore"
	"github.com/loci-memory/loci/memory"
)

// ServerExamples are addresses of databases on servers.
const ServerExamples = "postgres://user:password@host:5432/database, mongodb://user:password@host:27017/database"

// StoreAddress is where memory is stored: "sqlite", "memory", or the address of a PostgreSQL or
// MongoDB database. The address may contain a password, which String leaves out.
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

// Kind returns the kind of store, which is no secret.
func (a StoreAddress) Kind() string {
	switch {
	case a.Postgres():
		return "postgres"
	case a.Mongo():
		return "mongodb"
	}
	return string(a)
}

// Postgres reports whether the store is a PostgreSQL database.
func (a StoreAddress) Postgres() bool { return sqlstore.IsPostgres(string(a)) }

// Mongo reports whether the store is a MongoDB database.
func (a StoreAddress) Mongo() bool {
	return strings.HasPrefix(string(a), "mongodb://") || strings.HasPrefix(string(a), "mongodb+srv://")
}

// Server reports whether the store is on a server, which other processes may share.
func (a StoreAddress) Server() bool { return a.Postgres() || a.Mongo() }

func (a StoreAddress) check() error {
	if a == "sqlite" || a == "memory" || a.Server() {
		return nil
	}
	// The error does not repeat the value, which may be a misspelt address with a password.
	return memory.Errorf(memory.Invalid, "store: invalid value; valid: sqlite, memory, "+ServerExamples)
}

// Networks returns the addresses and networks of Trusted and Proxies.
func (c *Config) Networks() (trusted, proxies []netip.Prefix, err error) {
	if trusted, err = networks("trusted", c.Trusted); err != nil {
		return nil, nil, err
	}
	proxies, err = networks("proxies", c.Proxies)
	return trusted, proxies, err
}

// networks parses addresses and networks; the result of an empty list is nil.
func networks(key string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); addrErr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, memory.Errorf(memory.Invalid, "%s: %q is neither an address nor a network", key, s)
		}
		out = append(out, p)
	}
	return out, nil
}
