package config

import (
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/loci-memory/loci/internal/filelock"
	"github.com/loci-memory/loci/memory"
)

// ServedAt returns where the process that has the data folder open serves its memory, ""
// where it does not or is on another machine. It holds once opening has returned
// [memory.Conflict]; else it may be of a server that is gone.
func (c *Config) ServedAt() string {
	return filelock.Answers(c.LockFile())
}

// FolderDecides reports whether the data folder was chosen in a stronger place than the
// address (flag, environment, file, default), and so says whose memory is meant. On
// a database server no folder does.
func (c *Config) FolderDecides() bool {
	return c.LockFile() != "" && c.rank("data") > c.rank("addr")
}

// AddressDecides reports whether a flag names the address, or a URL stands there, and no flag
// names the data folder.
func (c *Config) AddressDecides() bool {
	return (c.rank("addr") == flagged || c.namesServer()) && c.rank("data") < flagged
}

// ServerURL is where commands find the server: the address as a URL, if it is none yet.
func (c *Config) ServerURL() string {
	if c.namesServer() {
		return c.Addr
	}
	return "http://" + Reached(c.Addr)
}

// Reached is how this machine reaches an address that a server listens on, which may stand for all interfaces.
func Reached(addr string) string {
	return regexp.MustCompile(`^(0\.0\.0\.0|\[::\])?:`).ReplaceAllString(addr, "127.0.0.1:")
}

// ListenAddr is the address to listen on; a URL of a server is none, and Invalid.
func (c *Config) ListenAddr() (string, error) {
	if !c.namesServer() {
		return c.Addr, nil
	}
	return "", memory.Errorf(memory.Invalid, "addr: %s is the URL of a server that commands ask; an address to listen on looks like 127.0.0.1:7077", c.Addr)
}

// namesServer reports whether the address is the URL of a server.
func (c *Config) namesServer() bool {
	u, err := url.Parse(c.Addr)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// flagged is the rank of what a flag set.
const flagged = 3

// rank orders the places that a setting may be from.
func (c *Config) rank(key string) int {
	return map[string]int{"file": 1, "environment": 2, "flag": flagged}[c.From(key)]
}

// LockFile keeps a second process off the database in the data folder; "" where memory is elsewhere.
func (c *Config) LockFile() string {
	if dir, err := c.DataDir(); err == nil && c.Store == "sqlite" {
		return filepath.Join(dir, DatabaseFile+".lock")
	}
	return ""
}
