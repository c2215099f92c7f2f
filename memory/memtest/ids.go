package memtest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// ID returns a UUIDv7 with the time [Epoch]. Equal names have equal ids.
func ID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return uuidV7(Epoch, sum)
}

// IDs generates UUIDv7s that sort in order of creation. All generators return the same sequence. The zero IDs
// is ready to use.
type IDs struct {
	mu    sync.Mutex
	count int64
}

// New returns the next id.
func (s *IDs) New() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	at := Epoch.Add(time.Duration(s.count) * time.Millisecond)
	return uuidV7(at, sha256.Sum256(fmt.Appendf(nil, "id %d", s.count)))
}

// uuidV7 returns a UUID of version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits, version and
// variant.
func uuidV7(at time.Time, random [32]byte) string {
	b := random[:16]
	ms := at.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
