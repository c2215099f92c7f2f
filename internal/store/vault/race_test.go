//go:build race

package vault

import (
	"os"
	"testing"
)

// TestMain plays fewer random histories under the race detector, in which SQLite is ten
// times slower: one goroutine plays a history, and how many are played adds no way for two
// to meet. All are played without it.
func TestMain(m *testing.M) {
	const histories = "LOCI_HISTORIES"
	if os.Getenv(histories) == "" {
		if err := os.Setenv(histories, "4"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
