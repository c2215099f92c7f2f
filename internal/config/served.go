package config

import (
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// ServedAt returns the URL of the server that uses the data folder, or "" if there is none or it runs on
// another machine. The URL is reliable only after opening the memory has returned [memory.Conflict];
// otherwise the server may have stopped.
func (c *Config) ServedAt() string {
	return filelock.Answers(c.LockFile())
}

// FolderDecides reports whether the data folder decides which memory commands use, because its
// source is stronger than that of the address (flag, environment, file, default). It is false for a
// database server.
func (c *Config) FolderDecides() bool {
	return c.LockFile() != "" && c.rank("data") > c.rank("addr")
}

// AddressDecides reports whether a flag sets the address, or the address is a URL, and no flag
// sets the data folder.
func (c *Config) AddressDecides() bool {
	return (c.rank("addr") == flagged || c.namesServer()) && c.rank("data") < flagged
}

// ServerURL returns the address of the server as a URL.
func (c *Config) ServerURL() string {
	if c.namesServer() {
		return c.Addr
	}
	return "http://" + Reached(c.Addr)
}

// Reached returns a local address for a server's listen address, which may mean all interfaces.
func Reached(addr string) string {
	return regexp.MustCompile(`^(0\.0\.0\.0|\[::\])?:`).ReplaceAllString(addr, "127.0.0.1:")
}

// ListenAddr returns the address to listen on. A URL is Invalid.
func (c *Config) ListenAddr() (string, error) {
	if !c.namesServer() {
		return c.Addr, nil
	}
	return "", memory.Errorf(memory.Invalid, "addr: %s is the URL of a server; to listen, use an address like 127.0.0.1:7077", c.Addr)
}

// namesServer reports whether the address is the URL of a server.
func (c *Config) namesServer() bool {
	u, err := url.Parse(c.Addr)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// flagged is the precedence of values that come from flags.
const flagged = 3

// rank returns the precedence of a setting's source.
func (c *Config) rank(key string) int {
	return map[string]int{"file": 1, "environment": 2, "flag": flagged}[c.From(key)]
}

// LockFile returns the path of the lock that protects the database in the data folder from a second
// process; "" if memory is stored elsewhere.
func (c *Config) LockFile() string {
	if dir, err := c.DataDir(); err == nil && c.Store == "sqlite" {
		return filepath.Join(dir, DatabaseFile+".lock")
	}
	return ""
}
