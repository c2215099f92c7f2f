package index

import (
	"context"
	"fmt"
	"github.com/loci-memory/loci/memory"
	"math/rand/v2"
	"syscall"
	"testing"
)

func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}
func TestScratchCPU(t *testing.T) {
	for _, bc := range []struct{ n, dims int }{{10_000, 0}, {10_000, 384}, {100_000, 0}} {
		c0 := cpu()
		src, owner := big(bc.n, bc.dims)
		ix := New(src, Options{})
		r := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(r, 1.2, 8, 20000)
		s := memory.Search{Scopes: []memory.Scope{{Owner: owner}}, Now: day}
		if bc.dims > 0 {
			s.Vector = make([]float32, bc.dims)
			s.Vector[0] = 1
		}
		c1 := cpu()
		ix.Search(context.Background(), s)
		c2 := cpu()
		const n = 300
		for range n {
			s.Text = fmt.Sprintf("w%dq w%dq w%dq w%dq w%dq", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64())
			ix.Search(context.Background(), s)
		}
		fmt.Println(bc, "gen ms", (c1-c0)/1e6, "load ms", (c2-c1)/1e6, "search us", (cpu()-c2)/n/1e3, "bytes", ix.entries[owner].bytes)
	}
}
