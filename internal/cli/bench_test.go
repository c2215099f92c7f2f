package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

func TestMovedBenchNamesItsSuccessor(t *testing.T) {
	for _, args := range [][]string{{"load", "--memories", "10", "--only", "recall"}, {"size"}} {
		cmd := root()
		cmd.SetArgs(append([]string{"bench"}, args...))
		err := cmd.ExecuteContext(t.Context())
		if want := "go -C bench run . " + args[0]; !errors.Is(err, memory.Invalid) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("loci bench %v: %v, want an end of %q", args, err, want)
		}
	}
}
