package memtest

import (
	"sync"
	"time"
)

// Epoch is the time of sample data, and the start time of clocks.
var Epoch = time.Date(2026, time.January, 5, 10, 0, 0, 0, time.UTC)

// Clock is a clock for tests. The zero Clock starts at [Epoch]. Each call of Now advances the clock by a
// microsecond, unless SetStep sets another step.
type Clock struct {
	mu      sync.Mutex
	elapsed time.Duration // time since Epoch
	step    time.Duration // advance at each call of Now; 0 means a microsecond; a negative step stops the clock
}

// Now returns the time and then advances the clock by a step.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := Epoch.Add(c.elapsed)
	if c.step == 0 {
		c.step = time.Microsecond
	}
	c.elapsed += max(c.step, 0)
	return now
}

// Advance moves the clock forward by d, or backward if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}

// SetStep sets the duration by which each call of Now advances the clock. 0 means a microsecond; a negative
// step stops the clock.
func (c *Clock) SetStep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step = d
}
