package web

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Bounds of guessing the key: so many wrong tries from one address within a time,
// then none until it is over.
const (
	mostGuesses = 10
	guessTime   = 15 * time.Minute
	guessPlaces = 1 << 12
)

// guesses counts wrong keys by address. Every address has a place in a table of one
// size, some share one: what it takes is the same whoever tries, and however many.
type guesses struct {
	seed maphash.Seed

	mu     sync.Mutex // guards places
	places [guessPlaces]struct {
		since time.Time
		wrong int
	}
}

// place is that of a remote address; of IPv6, where one has many, of its network.
func (g *guesses) place(remote string) int {
	name := remote
	if ap, err := netip.ParseAddrPort(remote); err == nil {
		ip := ap.Addr().Unmap().WithZone("")
		name = ip.String()
		if net, err := ip.Prefix(64); err == nil && ip.Is6() {
			name = net.String()
		}
	}
	return int(maphash.String(g.seed, name) % guessPlaces)
}

// wait returns how long an address has to wait before it may try again, 0 for not at
// all.
func (g *guesses) wait(remote string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := &g.places[g.place(remote)]
	if at.wrong < mostGuesses {
		return 0
	}
	return max(0, guessTime-now.Sub(at.since))
}

// wrong counts a wrong key.
func (g *guesses) wrong(remote string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := &g.places[g.place(remote)]
	if now.Sub(at.since) >= guessTime {
		at.since, at.wrong = now, 0
	}
	at.wrong++
}
