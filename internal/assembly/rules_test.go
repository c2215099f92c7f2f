package assembly

import (
	"context"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// openWith opens a memory in memory with these settings.
func openWith(t *testing.T, flags map[string]string) *Loci {
	t.Helper()
	set := map[string]string{"store": "memory", "data": t.TempDir()}
	for k, v := range flags {
		set[k] = v
	}
	config, err := config.Load(config.Sources{Flags: set})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
