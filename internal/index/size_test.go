package index

import (
	"runtime"
	"testing"
)

// heap returns the bytes in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestSizeIsNearTheTruth(t *testing.T) {
	const n = 4000
	for _, dims := range []int{0, 32} {
		for _, at := range []string{"built", "grown", "odd ids"} {
			src, owner := big(n, dims)
			h := src.owners[owner]
			if at == "odd ids" {
				for i := range h.steps {
					h.steps[i].ID += "x"
					h.steps[i].Memory.Turn.ID += "x"
				}
			}
			before := heap()
			sh := newShard()
			switch at {
			case "grown":
				for _, step := range h.steps {
					sh.apply(step)
				}
			default:
				for _, step := range h.steps {
					sh.apply(step)
				}
				sh.packPostings()
			}
			held, said := heap()-before, sh.size()
			t.Logf("%d dims, %s: %d bytes a memory, said to be %d", dims, at, held/n, said/n)
			if said < held*3/4 || said > held*5/4 {
				t.Errorf("%d dims, %s: size says %d bytes a memory, the heap has %d", dims, at, said/n, held/n)
			}
			runtime.KeepAlive(sh)
			runtime.KeepAlive(src)
		}
	}
}
