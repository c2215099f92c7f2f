package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// RunHistory makes random histories on two stores, the reference and the one
// under test, and compares all that they answer. On the latter it also checks
// that undoing a run restores the export before it and, at the end of each
// history, that exports as of a time equal those taken then. A difference is
// printed with its seed and a short script that shows it. $LOCI_SEED makes the
// one history of that seed, $LOCI_HISTORIES so many.
func RunHistory(t *testing.T, reference, open Open) {
	play := func(script []step) string {
		h := &history{want: newPlayer(t, reference), got: newPlayer(t, open)}
		defer h.close()
		h.got.past = map[memory.Owner][]moment{}
		return h.play(script)
	}
	for _, seed := range seeds(t) {
		script := scripts.Example(seed)
		if diff := play(script); diff != "" {
			script, diff = shorten(script, diff, play)
			t.Fatalf("LOCI_SEED=%d: %s\nscript:\n%s", seed, diff, list(script))
		}
	}
}

var scripts = rapid.SliceOfN(rapid.Custom(drawStep), 30, 40)

const histories = 25

func seeds(t *testing.T) []int {
	if seed, ok := number(t, "LOCI_SEED"); ok {
		return []int{seed}
	}
	n, ok := number(t, "LOCI_HISTORIES")
	switch {
	case ok:
	case testing.Short():
		n = histories / 5
	default:
		n = histories
	}
	seeds := make([]int, n)
	for i := range seeds {
		seeds[i] = rand.IntN(1 << 30)
	}
	return seeds
}

// number reads a number from the environment, if it is there.
func number(t *testing.T, name string) (int, bool) {
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is a number, not %q", name, text)
	}
	return n, true
}

// shorten leaves out steps, and changes of steps, as long as there is a
// difference, and returns the difference that remains.
func shorten(script []step, diff string, play func([]step) string) ([]step, string) {
	for i := len(script) - 1; i >= 0; i-- {
		shorter := slices.Delete(slices.Clone(script), i, i+1)
		if d := play(shorter); d != "" {
			script, diff = shorter, d
		}
	}
	for i := range script {
		if script[i].apply == nil {
			continue
		}
		for j := len(script[i].apply.changes) - 1; j >= 0; j-- {
			fewer := *script[i].apply
			fewer.changes = slices.Delete(slices.Clone(fewer.changes), j, j+1)
			shorter := slices.Clone(script)
			shorter[i].apply = &fewer
			if d := play(shorter); d != "" {
				script, diff = shorter, d
			}
		}
	}
	return script, diff
}

// history is a script being played on two stores.
type history struct {
	want, got *player
}

func (h *history) close() {
	_ = h.want.store.Close() // what a store does on closing is not what is compared
	_ = h.got.store.Close()
}

// play returns the first difference, "" for none.
func (h *history) play(script []step) string {
	for i, s := range script {
		want, got := h.want.play(i, s), h.got.play(i, s)
		if diff := difference(got, want, s.compared()); diff != "" {
			return fmt.Sprintf("step %d, %s (-got +want):\n%s", i+1, s, diff)
		}
		if h.got.undone != "" {
			return fmt.Sprintf("step %d, %s: undo does not restore (-got +want):\n%s", i+1, s, h.got.undone)
		}
	}
	for _, o := range players {
		want, got := h.want.snapshot(o), h.got.snapshot(o)
		if diff := difference(got, want); diff != "" {
			return fmt.Sprintf("what %s has in the end (-got +want):\n%s", o, diff)
		}
	}
	return h.got.remember()
}

// players are the owners of a history: two are enough to cross.
var players = []memory.Owner{ana, ben}

// player plays a script on one store.
type player struct {
	store  memory.Store
	clock  *memtest.Clock
	leases map[string]memory.Lease   // by job: the last one that was held
	past   map[memory.Owner][]moment // nil: none is kept
	undone string                    // how an export after an undo differs from the one before
	t      *testing.T
}

// moment is what was known at a time.
type moment struct {
	at    time.Time
	known export
}

func newPlayer(t *testing.T, open Open) *player {
	clock := new(memtest.Clock)
	clock.Step(-1) // stores may ask as often as they like
	return &player{
		store: open(t, clock.Now), clock: clock, t: t,
		leases: map[string]memory.Lease{},
	}
}

// answer is what a step returned.
type answer struct {
	Code    memory.Code
	Receipt memory.Receipt
	Job     memory.Job
	Read    any
}

func (p *player) play(i int, s step) answer {
	p.clock.Advance(s.wait)
	switch {
	case s.apply != nil:
		return p.apply(i, s.owner, *s.apply)
	case s.append != nil:
		return p.append(s.owner, *s.append)
	case s.queue != nil:
		return p.queue(s.owner, *s.queue)
	}
	return p.read(s.owner, *s.read)
}

// answered files an error under its code, since messages are a store's own.
func (p *player) answered(a answer, err error) answer {
	for _, code := range []memory.Code{
		memory.Invalid, memory.NotFound, memory.Conflict, memory.Duplicate, memory.Gone, memory.LeaseLost,
	} {
		if errors.Is(err, code) {
			a.Code = code
			return a
		}
	}
	if err != nil {
		a.Code = memory.Code("unexpected: " + err.Error())
	}
	return a
}

// wrote remembers what is known now, for the end, after every few writes.
func (p *player) wrote(owner memory.Owner, receipt memory.Receipt) {
	if receipt.Again || p.past == nil || receipt.Version%4 != 0 {
		return
	}
	p.past[owner] = append(p.past[owner], moment{receipt.At, p.export(owner, memory.At{})})
}

// remember compares what is known as of the remembered moments with what was
// known then, and returns the first difference.
func (p *player) remember() string {
	for o, moments := range p.past {
		for _, m := range moments {
			now := p.export(o, memory.At{AsOf: m.at})
			if diff := difference(now, m.known, ignoreVersions); diff != "" {
				return fmt.Sprintf("%s's export as of %v differs from the one taken then (-got +want):\n%s", o, m.at, diff)
			}
		}
	}
	return ""
}

func (p *player) export(owner memory.Owner, at memory.At) export {
	out, err := exportAt(p.t.Context(), p.store, owner, at)
	if err != nil {
		p.t.Fatalf("export of %s: %v", owner, err)
	}
	return out
}

func (p *player) snapshot(owner memory.Owner) snapshot {
	out, err := takeSnapshot(p.t.Context(), p.store, owner)
	if err != nil {
		p.t.Fatalf("snapshot of %s: %v", owner, err)
	}
	return out
}

func (p *player) apply(i int, owner memory.Owner, s applyStep) answer {
	run := memtest.Run(s.run)
	if run.ID == "" {
		run.ID = fmt.Sprint("run ", i+1)
	}
	if s.lease != "" {
		lease := p.held(owner, s.lease)
		owner, run.Lease = lease.Owner, &lease
	}
	run.Learned, run.Vectors, run.Jobs = s.learned, s.vectors, drawnJobs(owner, s.queued)
	changes := p.plan(owner, s.changes)
	var was export
	if s.undo {
		was = p.export(owner, memory.At{})
	}
	receipt, err := p.store.Apply(p.t.Context(), owner, run, changes...)
	a := p.answered(answer{Receipt: receipt}, err)
	if err != nil {
		return a
	}
	p.wrote(owner, receipt)
	if s.undo && !receipt.Again && len(run.Learned) == 0 {
		p.undone = p.undo(owner, run.ID, was)
	}
	return a
}

func (p *player) undo(owner memory.Owner, run string, was export) string {
	changes, err := changesAll(p.t.Context(), p.store, owner, memory.ChangeQuery{Run: run})
	if err != nil {
		return err.Error()
	}
	receipt, err := p.store.Apply(p.t.Context(), owner, memtest.Run("undo "+run), undo(changes)...)
	if err != nil {
		return err.Error()
	}
	p.wrote(owner, receipt)
	return difference(p.export(owner, memory.At{}).active(), was.active(), ignoreVersions)
}

// plan makes changes of steps, by what is there.
func (p *player) plan(owner memory.Owner, steps []changeStep) []memory.Change {
	var changes []memory.Change
	added := map[string]bool{}
	for _, s := range steps {
		c := s.change(owner)
		target := c.After.Target()
		there := added[target] || p.has(owner, s.id(owner), target)
		if s.base != 0 && !added[target] {
			c.Base = p.versionOf(owner, s.id(owner)) + s.base - 1
		}
		adds := c.Action == memory.ActionAdd || c.Action == memory.ActionLink
		switch {
		case !s.fits || adds != there:
		case there:
			c.Action = memory.ActionUpdate
		case c.After.Turn != nil, c.After.Conversation != nil:
			continue
		default:
			c.Action, c.Base = memory.ActionAdd, 0
		}
		added[target] = true
		changes = append(changes, c)
	}
	return changes
}

func (p *player) has(owner memory.Owner, id, target string) bool {
	changes, err := changesAll(p.t.Context(), p.store, owner, memory.ChangeQuery{Target: target})
	return err == nil && len(changes) > 0 || p.versionOf(owner, id) > 0
}

// versionOf returns the version of a memory, 0 if there is none.
func (p *player) versionOf(owner memory.Owner, id string) int64 {
	read, err := p.store.Get(p.t.Context(), owner, id)
	if err != nil || len(read) != 1 {
		return 0
	}
	return read[0].Version()
}

func (p *player) append(owner memory.Owner, s appendStep) answer {
	receipt, err := p.store.Append(p.t.Context(), owner, s.batch(owner))
	if err == nil {
		p.wrote(owner, receipt)
	}
	return p.answered(answer{Receipt: receipt}, err)
}

func (p *player) queue(owner memory.Owner, s queueStep) answer {
	ctx := p.t.Context()
	switch s.verb {
	case "claim":
		j, err := p.store.Claim(ctx, s.kinds, s.lease)
		if err == nil {
			p.leases[j.ID], p.leases[lastClaimed] = j.Lease, j.Lease
			j.Lease.Token = ""
		}
		return p.answered(answer{Job: j}, err)
	case "extend":
		lease, err := p.store.Extend(ctx, p.held(owner, s.job), s.lease)
		lease.Token = ""
		return p.answered(answer{Job: memory.Job{Lease: lease}}, err)
	case "finish":
		return p.answered(answer{}, p.store.Finish(ctx, p.held(owner, s.job), s.outcome))
	}
	held := p.held(owner, s.job)
	return p.answered(answer{}, p.store.Requeue(ctx, held.Owner, held.Job))
}

// held is the last lease of a job, whoever's job it is.
func (p *player) held(owner memory.Owner, job string) memory.Lease {
	if lease, ok := p.leases[job]; ok {
		return lease
	}
	return memory.Lease{Owner: owner, Job: job, Token: "never given"}
}

func (p *player) read(owner memory.Owner, s readStep) answer {
	ctx := p.t.Context()
	var a answer
	var err error
	switch s.verb {
	case "list":
		a.Read, err = listAll(ctx, p.store, owner, s.query)
	case "turns":
		a.Read, err = p.store.Turns(ctx, owner, s.turns)
	case "changes":
		a.Read, err = changesAll(ctx, p.store, owner, s.changes)
	case "since":
		var items []memory.Item
		_, err = p.store.Since(ctx, owner, model, s.after, func(i memory.Item) error {
			items = append(items, i)
			return nil
		})
		a.Read = items
	default:
		a.Read, err = takeSnapshot(ctx, p.store, owner)
	}
	return p.answered(a, err)
}

func list(script []step) string {
	var b strings.Builder
	for i, s := range script {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, s)
	}
	return b.String()
}
