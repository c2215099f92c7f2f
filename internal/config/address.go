package config

import (
	"net/netip"
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
	if !a.IsServer() {
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
	case a.IsPostgres():
		return "postgres"
	case a.IsMongo():
		return "mongodb"
	}
	return string(a)
}

// IsPostgres reports whether the store is a PostgreSQL database.
func (a StoreAddress) IsPostgres() bool { return sqlstore.IsPostgres(string(a)) }

// IsMongo reports whether the store is a MongoDB database.
func (a StoreAddress) IsMongo() bool {
	return strings.HasPrefix(string(a), "mongodb://") || strings.HasPrefix(string(a), "mongodb+srv://")
}

// IsServer reports whether the store is a database server, which several processes may share.
func (a StoreAddress) IsServer() bool { return a.IsPostgres() || a.IsMongo() }

func (a StoreAddress) check() error {
	if a == "sqlite" || a == "memory" || a.IsServer() {
		return nil
	}
	// The error does not repeat the value, which may be a misspelt address with a password.
	return memory.Errorf(memory.Invalid, "store: invalid value; valid: sqlite, memory, "+ServerExamples)
}

// Networks parses the addresses and networks in the settings trusted and proxies.
func (c *Config) Networks() (trusted, proxies []netip.Prefix, err error) {
	if trusted, err = parseNetworks("trusted", c.Trusted); err != nil {
		return nil, nil, err
	}
	proxies, err = parseNetworks("proxies", c.Proxies)
	return trusted, proxies, err
}

// parseNetworks parses the value of the setting key, a list of addresses and networks. An empty list yields nil.
func parseNetworks(key string, values []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range values {
		p, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); addrErr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, memory.Errorf(memory.Invalid, "%s: invalid address or network %q (examples: 10.0.0.1, 10.0.0.0/8)", key, s)
		}
		out = append(out, p)
	}
	return out, nil
}
