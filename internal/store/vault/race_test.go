//go:build race

package vault

import (
	"os"
	"testing"
)

// TestMain plays fewer random histories and kills under the race detector, in which SQLite is ten
// times slower: how many are played adds no way for two to meet. All are played without it.
func TestMain(m *testing.M) {
	rounds = 4
	for _, name := range []string{"LOCI_HISTORIES", "LOCI_CRASH_KILLS"} {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, "4"); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
