package main

import (
	"container/list"
	"fmt"
	"math/rand/v2"

	"github.com/loci-memory/loci/memory"
)

// SizeOptions describe who uses a server. The zero value of a field means its default.
type SizeOptions struct {
	Users      int     // 0: 1,000,000
	Each       int     // memories of each; 0: 1,000
	Resident   int64   // bytes that the index holds for a memory; 0: what was measured
	Stored     int64   // bytes that the database keeps for a memory; 0: what was measured
	Popularity float64 // exponent of Zipf's law by which users are drawn, above 1; 0: 1.1
	Requests   int     // that are counted, after as many that are not; 0: 2,000,000
	Budgets    []int64 // bytes of index.budget; nil: 256 MiB to 64 GiB
}

// What was measured of turns of some sixty bytes with vectors of the default embedder:
// deploy/README.md says how.
const (
	residentBytes = 1_160
	storedBytes   = 1_320
)

func (o SizeOptions) withDefaults() (SizeOptions, error) {
	for _, d := range []struct {
		value  *int
		normal int
	}{{&o.Users, 1_000_000}, {&o.Each, 1_000}, {&o.Requests, 2_000_000}} {
		if *d.value == 0 {
			*d.value = d.normal
		}
	}
	if o.Resident == 0 {
		o.Resident = residentBytes
	}
	if o.Stored == 0 {
		o.Stored = storedBytes
	}
	if o.Popularity == 0 {
		o.Popularity = popularity
	}
	if o.Users < 2 || o.Each < 1 || o.Requests < 1 || o.Resident < 1 || o.Stored < 1 || o.Popularity <= 1 {
		return o, memory.Errorf(memory.Invalid, "there are at least 2 users, 1 memory and 1 request, and popularity is above 1")
	}
	if o.Budgets == nil {
		for gib := int64(1); gib <= 256; gib *= 4 {
			o.Budgets = append(o.Budgets, gib<<28)
		}
	}
	return o, nil
}

// Sized is what one replica has with an index budget.
type Sized struct {
	Budget int64   `json:"budget"`   // bytes
	Users  int     `json:"users"`    // whose indexes are resident, at the end
	Hits   float64 `json:"hit_rate"` // requests that found their user's index resident
}

// Size simulates one replica's resident indexes, the least recently used of which leave
// when the budget is full, for users drawn by Zipf's law. Without sessions that stick to
// a replica each of many sees the same mix, so that it holds for all of them.
func Size(o SizeOptions, report func(Sized)) (SizeOptions, error) {
	o, err := o.withDefaults()
	if err != nil {
		return o, err
	}
	for _, budget := range o.Budgets {
		room := int(min(budget/(o.Resident*int64(o.Each)), int64(o.Users)))
		draw := rand.NewZipf(rand.New(rand.NewPCG(4, 4)), o.Popularity, 1, uint64(o.Users-1)) //nolint:gosec // users are more than 1
		users := newRecent(room)
		for range o.Requests {
			users.ask(draw.Uint64())
		}
		hits := 0
		for range o.Requests {
			if users.ask(draw.Uint64()) {
				hits++
			}
		}
		report(Sized{Budget: budget, Users: users.order.Len(), Hits: float64(hits) / float64(o.Requests)})
	}
	return o, nil
}

// recent are the users whose indexes are resident.
type recent struct {
	room  int
	order list.List // of users, the last asked for in front
	at    map[uint64]*list.Element
}

func newRecent(room int) *recent { return &recent{room: room, at: map[uint64]*list.Element{}} }

// ask reports whether a user's index is resident, and makes it so.
func (r *recent) ask(user uint64) bool {
	if e, ok := r.at[user]; ok {
		r.order.MoveToFront(e)
		return true
	}
	if r.room == 0 {
		return false
	}
	if r.order.Len() >= r.room {
		delete(r.at, r.order.Remove(r.order.Back()).(uint64))
	}
	r.at[user] = r.order.PushFront(user)
	return false
}

// SizeHead is the line above a table of [Sized].
var SizeHead = fmt.Sprintf("%-14s %14s %10s", "index budget", "users resident", "hit rate")

// String returns a line of the table.
func (s Sized) String() string {
	return fmt.Sprintf("%-14s %14d %9.1f%%", fmt.Sprintf("%.2g GiB", float64(s.Budget)/(1<<30)), s.Users, 100*s.Hits)
}
