package config

import (
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// RunningServerURL returns the URL of the server that uses the data folder, or "" without a server on
// this machine. Use the URL only after opening the memory has returned [memory.Conflict]; otherwise the
// server may have stopped.
func (c *Config) RunningServerURL() string {
	return filelock.HolderURL(c.LockFile())
}

// PrefersDataFolder reports whether commands find their memory by the setting data instead of the setting addr.
// This is so if the source of data has a higher precedence (flag, environment, file, default) than the
// source of addr. It is false for a database server.
func (c *Config) PrefersDataFolder() bool {
	return c.LockFile() != "" && c.sourceRank("data") > c.sourceRank("addr")
}

// RequiresServer reports whether commands must use the server at addr. This is so if no flag sets the data
// folder, and a flag sets addr or addr is a URL.
func (c *Config) RequiresServer() bool {
	return (c.sourceRank("addr") == flagRank || c.isServerURL()) && c.sourceRank("data") < flagRank
}

// ServerURL returns addr as the URL of a server.
func (c *Config) ServerURL() string {
	if c.isServerURL() {
		return c.Addr
	}
	return "http://" + LocalAddress(c.Addr)
}

// LocalAddress replaces a listen address for all interfaces by an address that this machine can connect to.
func LocalAddress(addr string) string {
	return regexp.MustCompile(`^(0\.0\.0\.0|\[::\])?:`).ReplaceAllString(addr, "127.0.0.1:")
}

// ListenAddr returns the address to listen on, or memory.Invalid if addr is a URL.
func (c *Config) ListenAddr() (string, error) {
	if !c.isServerURL() {
		return c.Addr, nil
	}
	return "", memory.Errorf(memory.Invalid, "addr: %s is the URL of a server; to listen, use an address like 127.0.0.1:7077", c.Addr)
}

// isServerURL reports whether addr is the URL of a server.
func (c *Config) isServerURL() bool {
	u, err := url.Parse(c.Addr)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// flagRank is the precedence of values from flags.
const flagRank = 3

// sourceRank returns the precedence of a setting's source: flagRank for a flag, 0 for a profile or a default.
func (c *Config) sourceRank(key string) int {
	return map[string]int{"file": 1, "environment": 2, "flag": flagRank}[c.SourceOf(key)]
}

// LockFile returns the path of the lock that protects the database in the data folder from a second
// process; "" if memory is not in the data folder.
func (c *Config) LockFile() string {
	if dir, err := c.DataDir(); err == nil && c.Store == "sqlite" {
		return filepath.Join(dir, DatabaseFile+".lock")
	}
	return ""
}
