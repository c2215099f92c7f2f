package config

import (
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// RunningServerURL returns the URL of the server that uses the data folder, or "" without a server on
// this machine. The URL is reliable only after opening the memory has returned [memory.Conflict];
// otherwise the server may have stopped.
func (c *Config) ServedAt() string {
	return filelock.Answers(c.LockFile())
}

// PrefersDataFolder reports whether commands find their memory by the data folder and not by addr:
// the source of data precedes the source of addr (flag, environment, file, default). It is false for
// a database server.
func (c *Config) FolderDecides() bool {
	return c.LockFile() != "" && c.rank("data") > c.rank("addr")
}

// RequiresServer reports whether commands must use the server at addr: a flag sets addr, or addr is a
// URL, and no flag sets the data folder.
func (c *Config) AddressDecides() bool {
	return (c.rank("addr") == flagged || c.namesServer()) && c.rank("data") < flagged
}

// ServerURL returns addr as the URL of a server.
func (c *Config) ServerURL() string {
	if c.namesServer() {
		return c.Addr
	}
	return "http://" + Reached(c.Addr)
}

// LocalAddress replaces a listen address for all interfaces by an address that this machine can connect to.
func Reached(addr string) string {
	return regexp.MustCompile(`^(0\.0\.0\.0|\[::\])?:`).ReplaceAllString(addr, "127.0.0.1:")
}

// ListenAddr returns the address to listen on, or memory.Invalid if addr is a URL.
func (c *Config) ListenAddr() (string, error) {
	if !c.namesServer() {
		return c.Addr, nil
	}
	return "", memory.Errorf(memory.Invalid, "addr: %s is the URL of a server; to listen, use an address like 127.0.0.1:7077", c.Addr)
}

// isServerURL reports whether addr is the URL of a server.
func (c *Config) namesServer() bool {
	u, err := url.Parse(c.Addr)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// flagRank is the precedence of values from flags.
const flagged = 3

// sourceRank returns the precedence of a setting's source.
func (c *Config) rank(key string) int {
	return map[string]int{"file": 1, "environment": 2, "flag": flagged}[c.From(key)]
}

// LockFile returns the path of the lock that protects the database in the data folder from a second
// process; "" if memory is not in the data folder.
func (c *Config) LockFile() string {
	if dir, err := c.DataDir(); err == nil && c.Store == "sqlite" {
		return filepath.Join(dir, DatabaseFile+".lock")
	}
	return ""
}
