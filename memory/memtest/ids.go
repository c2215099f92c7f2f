package memtest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// ID returns the same UUIDv7 for the same name, made at [Epoch].
func ID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return version7(Epoch, sum)
}

// IDs is a source of UUIDv7s that sort in the order they were made. Two sources
// give the same ids. The zero IDs is ready.
type IDs struct {
	mu sync.Mutex
	n  int64
}

// New returns the next id.
func (s *IDs) New() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	at := Epoch.Add(time.Duration(s.n) * time.Millisecond)
	return version7(at, sha256.Sum256(fmt.Appendf(nil, "id %d", s.n)))
}

// version7 lays out RFC 9562's version 7: 48 bits of milliseconds, then randomness
// around the version and variant bits.
func version7(at time.Time, random [32]byte) string {
	b := random[:16]
	ms := at.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
