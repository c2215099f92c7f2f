package backup

import (
	"os"
	"path/filepath"
	"time"
)

// MayHold is what may still hold words that were there between two times and then erased,
// and is not reached.
func (b *Maker) MayHold(since, until time.Time) []string {
	c := b.config
	out := append(b.Notes.between(since, until), "what other users said, or were answered, in their own chats", "exports and copies of the data folder that were made before")
	if c.Store.Server() {
		out[len(out)-1] = "backups and exports that were made before"
	}
	if c.Store.Mongo() {
		out = append(out, "the MongoDB server's own backups, its log of operations and its journal")
	}
	if c.Store.Postgres() {
		out = append(out, "the PostgreSQL server's own backups, write-ahead log and rows that it has not vacuumed yet")
	}
	if dir, err := c.VaultDir(); err == nil && dir != "" {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			out = append(out, "commits in the vault's git repository")
		}
	}
	return out
}
