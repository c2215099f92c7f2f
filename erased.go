package loci

import (
	"os"
	"path/filepath"
)

// held is what may still hold words after they were erased, and is not reached.
func held(c Config) []string {
	out := []string{"backups and exports that were made before"}
	if c.Store.postgres() {
		out = append(out, "the PostgreSQL server's own backups, write-ahead log and rows that it has not vacuumed yet")
	}
	if dir, err := c.VaultDir(); err == nil && dir != "" {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			out = append(out, "commits in the vault's git repository")
		}
	}
	return out
}
