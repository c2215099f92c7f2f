package memtest

import (
	"sync"
	"time"
)

// Epoch is the time of sample data, and the start of clocks.
var Epoch = time.Date(2026, time.January, 5, 10, 0, 0, 0, time.UTC)

// Clock is a clock for tests. The zero Clock starts at [Epoch] and advances a microsecond at each
// reading.
type Clock struct {
	mu    sync.Mutex
	since time.Duration // since Epoch
	step  time.Duration
}

// Now returns the time and takes a step.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := Epoch.Add(c.since)
	if c.step == 0 {
		c.step = time.Microsecond
	}
	c.since += max(c.step, 0)
	return now
}

// Advance moves the clock by d, backwards if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since += d
}

// Step sets how far each Now moves the clock. A negative step stops it, 0 is the
// default of a microsecond.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step = d
}
