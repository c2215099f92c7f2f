package cli

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// Go lets as much garbage come together as there is in use before it collects
// (GOGC=100). Most of what a large index holds is bytes without pointers that never
// become garbage: twice that would be a waste, and walking it costs little.
const (
	// leastRoom is for garbage however small the index is: at 1,300 recalls a second
	// some seven collections a second. Half of that saves little and makes them ten.
	leastRoom = 24 << 20
	// leastPercent is of what is in use, so that what a collection costs is spread
	// over more garbage where there is more to walk.
	leastPercent = 20
	// besides is what is in use beside the index.
	besides = 8 << 20
)

// collectAt returns the GOGC for an index of so many bytes: room for garbage of
// leastRoom or leastPercent, whichever is more, and never more than Go's own 100.
func collectAt(resident int64) int {
	return int(min(100, max(leastPercent, 100*leastRoom/(resident+besides))))
}

// boundGarbage sets GOGC by what is resident until ctx ends. Whoever sets GOGC or
// GOMEMLIMIT has decided otherwise. It is no limit of memory, near which the
// collector would hardly let anything else run.
func boundGarbage(ctx context.Context, resident func() int64) {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return
	}
	set := collectAt(resident())
	before := debug.SetGCPercent(set)
	defer debug.SetGCPercent(before)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if next := collectAt(resident()); next != set {
			set = next
			debug.SetGCPercent(set)
		}
	}
}
