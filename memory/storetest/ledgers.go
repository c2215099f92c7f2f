package storetest

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/memory"
)

var ledgerRules = []rule{
	{"SpendAddsUp", spendAddsUp},
	{"SpentIsTheOwners", spentIsTheOwners},
	{"SpendRefusesNonsense", spendRefusesNonsense},
}

func spendAddsUp(r *rig) {
	day := time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC)
	for _, u := range []memory.Usage{
		{Day: day.Add(23 * time.Hour), Purpose: "reconcile", Model: "small", Calls: 1, InputTokens: 5, OutputTokens: 1},
		{Day: day.Add(time.Hour), Purpose: "extract", Model: "small", Calls: 1, InputTokens: 10, OutputTokens: 2, Cost: 0.25},
		{Day: day.Add(time.Minute), Purpose: "extract", Model: "small", Calls: 2, InputTokens: 30, OutputTokens: 4, Cost: 0.5},
		{Day: day.Add(time.Minute), Purpose: "extract", Model: "large", Calls: 1, InputTokens: 7},
		{Day: day.Add(24 * time.Hour), Purpose: "extract", Model: "small", Calls: 1},
	} {
		r.must("spend", r.Spend(r.Context(), ana, u))
	}
	all := []memory.Usage{
		{Day: day, Purpose: "extract", Model: "large", Calls: 1, InputTokens: 7},
		{Day: day, Purpose: "extract", Model: "small", Calls: 3, InputTokens: 40, OutputTokens: 6, Cost: 0.75},
		{Day: day, Purpose: "reconcile", Model: "small", Calls: 1, InputTokens: 5, OutputTokens: 1},
		{Day: day.Add(24 * time.Hour), Purpose: "extract", Model: "small", Calls: 1},
	}
	for from, want := range map[time.Time][]memory.Usage{
		{}:                      all,
		day.Add(12 * time.Hour): all,
		day.Add(25 * time.Hour): all[3:],
		day.Add(48 * time.Hour): nil,
	} {
		got, err := r.Spent(r.Context(), ana, from)
		r.must("read the ledger", err)
		if !slices.Equal(got, want) {
			r.Errorf("spent from %v: got %+v, want %+v", from, got, want)
		}
	}
}

func spentIsTheOwners(r *rig) {
	r.must("spend", r.Spend(r.Context(), ana, memory.Usage{Day: time.Unix(0, 0), Calls: 1}))
	if got, err := r.Spent(r.Context(), ben, time.Time{}); err != nil || len(got) > 0 {
		r.Errorf("spent by somebody else: got %+v and %v, want nothing", got, err)
	}
}

func spendRefusesNonsense(r *rig) {
	day := time.Unix(0, 0)
	for _, u := range []memory.Usage{{Calls: 1}, {Day: day, Calls: -1}, {Day: day, InputTokens: -1}, {Day: day, OutputTokens: -1}, {Day: day, Cost: -1}, {Day: day, Cost: math.NaN()}} {
		if err := r.Spend(r.Context(), ana, u); !errors.Is(err, memory.Invalid) {
			r.Errorf("spend %+v: got %v, want %s", u, err, memory.Invalid)
		}
	}
	if err := r.Spend(r.Context(), "", memory.Usage{Day: day}); !errors.Is(err, memory.Invalid) {
		r.Errorf("spend for nobody: got %v, want %s", err, memory.Invalid)
	}
}
