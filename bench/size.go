package main

import (
	"container/list"
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/bench/report"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// size describes the load of a server.
type size struct {
	run
	users, each, requests int
	resident, stored      int64 // bytes per memory in the index and the database
	popularity            float64
	budgets               []string
}

func sizeCommand() *cobra.Command {
	s := &size{}
	cmd := s.command("size", "Simulate how much memory servers for many users need", cobra.NoArgs,
		func(*cobra.Command, []string) error { return s.simulate() })
	f := cmd.Flags()
	f.IntVar(&s.users, "users", 1_000_000, "users")
	f.IntVar(&s.each, "each", 1_000, "memories per user")
	f.Int64Var(&s.resident, "resident", 1_160, "bytes per memory in the index")
	f.Int64Var(&s.stored, "stored", 1_320, "bytes per memory in the database")
	f.Float64Var(&s.popularity, "popularity", popularity, "exponent of Zipf's law, above 1")
	f.IntVar(&s.requests, "requests", 2_000_000, "counted requests, after as many for warm-up")
	budgets := []string{"256MiB", "1GiB", "4GiB", "16GiB", "64GiB"}
	f.StringSliceVar(&s.budgets, "budget", budgets, "settings index.budget to try")
	return cmd
}

// simulate runs one replica with an LRU of resident indexes. Without sticky sessions all replicas see the same mix, so
// the result holds for each.
func (s *size) simulate() error {
	if s.users < 2 || min(s.each, s.requests) < 1 || min(s.resident, s.stored) < 1 || s.popularity <= 1 {
		return memory.Errorf(memory.Invalid, "users must be at least 2, other numbers at least 1, popularity above 1")
	}
	gib := func(each int64) float64 { return float64(int64(s.users)*int64(s.each)*each) / (1 << 30) }
	s.out.Say("%d users of %d memories: %.1f GiB in the database (%d bytes each), "+
		"%.1f GiB if all were resident (%d bytes each)",
		s.users, s.each, gib(s.stored), s.stored, gib(s.resident), s.resident)
	for _, text := range s.budgets {
		var budget config.Bytes
		if err := budget.UnmarshalText([]byte(text)); err != nil {
			return memory.Errorf(memory.Invalid, "budget: %v", err)
		}
		room := min(int64(budget)/(s.resident*int64(s.each)), int64(s.users))
		users := &recent{room: int(room), at: map[uint64]*list.Element{}}
		draw := rand.NewZipf(rand.New(rand.NewPCG(4, 4)), s.popularity, 1, uint64(s.users-1))
		hits := 0
		for i := range 2 * s.requests {
			if users.ask(draw.Uint64()) && i >= s.requests {
				hits++
			}
		}
		name := fmt.Sprintf("%.2g GiB", float64(budget)/(1<<30))
		err := s.out.Rows(report.Row{Part: "index budget", Name: name, Cells: []report.Cell{
			report.Number("users resident", "%.0f", float64(users.order.Len())),
			report.Number("hit rate, %", "%.1f", 100*float64(hits)/float64(s.requests)),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// recent has the users whose indexes are resident.
type recent struct {
	room  int
	order list.List // of users, the most recent first
	at    map[uint64]*list.Element
}

// ask reports whether a user's index was resident, and makes it resident.
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
