package storetest

import (
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

var timeRules = []rule{
	{"AsOfSeesThePast", asOfSeesThePast},
	{"ValidAtSeesWhatWasTrue", validAtSeesWhatWasTrue},
	{"TimesKeepMicrosecondsAndUTC", timesKeepMicrosecondsAndUTC},
	{"ClockNeverGoesBack", clockNeverGoesBack},
}

func asOfSeesThePast(r *rig) {
	type moment struct {
		at  time.Time
		was export
	}
	var past []moment
	done := func(receipt memory.Receipt) {
		past = append(past, moment{receipt.At, r.export(ana, memory.At{})})
	}
	berlin, lisbon := memtest.Fact(ana, "Ana lives in Berlin"), memtest.Fact(ana, "Ana lives in Lisbon")
	timezone := memtest.Profile(ana, "timezone", "Europe/Berlin")
	related := memtest.Relation(ana, berlin.ID, lisbon.ID, memory.Contradicts)
	link := memtest.Link(ana, memtest.Fact(team, "Standup at ten"))
	batch := memtest.Batch(ana, "c", 0, "I moved", "oh", "yes")

	done(r.apply(ana, memtest.Add(berlin), memtest.Change(memory.ActionAdd, timezone)))
	done(r.append(ana, batch))
	done(r.apply(ana, memory.Replace(berlin, lisbon, memtest.Epoch, "moved", memtest.Person)...))
	learned := r.run()
	learned.Learned = []string{batch.Turns[0].ID}
	done(r.applyRun(ana, learned, memtest.Change(memory.ActionAdd, related), memtest.Change(memory.ActionLink, link)))
	done(r.apply(ana, memtest.TurnMark(memory.ActionUpdate, batch.Turns[2].ID, memory.Replaced)))
	done(r.append(ana, memtest.Batch(ana, "c", 3, "indeed")))
	timezone.Value, link.Status, related.Status = "Europe/Lisbon", memory.Retired, memory.Retired
	done(r.apply(ana, memtest.Change(memory.ActionUpdate, timezone), memtest.Change(memory.ActionUnlink, link), memtest.Change(memory.ActionRetire, related)))
	done(r.apply(ana, memtest.Retire(lisbon), memtest.TurnMark(memory.ActionUpdate, batch.Turns[2].ID, memory.Active)))
	timezone.Status = memory.Retired
	done(r.apply(ana, memtest.Change(memory.ActionRetire, timezone), memtest.Change(memory.ActionAdd, memtest.Summary(ana, "c", "Ana moved."))))

	earlier := export{}
	for i, m := range past {
		r.same("as of just before write "+string(rune('1'+i)), r.export(ana, memory.At{AsOf: before(m.at)}), earlier, ignoreVersions)
		r.same("as of write "+string(rune('1'+i)), r.export(ana, memory.At{AsOf: m.at}), m.was, ignoreVersions)
		earlier = m.was
	}
	r.lists("filtered as of then", ana, memory.Query{Text: "BERLIN", At: memory.At{AsOf: past[0].at}}, "Ana lives in Berlin")
	r.lists("filtered by the words it has now", ana, memory.Query{Text: "Lisbon", At: memory.At{AsOf: past[0].at}})
}

func validAtSeesWhatWasTrue(r *rig) {
	year := func(y int) time.Time { return time.Date(y, time.June, 1, 0, 0, 0, 0, time.UTC) }
	berlin, lisbon, cat := memtest.Fact(ana, "Ana lives in Berlin"), memtest.Fact(ana, "Ana lives in Lisbon"), memtest.Fact(ana, "Ana has a cat")
	berlin.ValidFrom, lisbon.ValidFrom = year(2020), year(2024)
	cat.ObservedAt = year(2022) // no start: from when it was observed on
	berlin.CreatedAt, lisbon.CreatedAt, cat.CreatedAt = year(2020), year(2021), year(2022)
	wrong := memtest.Fact(ana, "Ana lives in Rome")
	wrong.ValidFrom, wrong.Status = year(2020), memory.Retired

	r.apply(ana, memtest.Add(berlin), memtest.Add(cat), memtest.Add(wrong))
	knew := r.apply(ana, memory.Replace(berlin, lisbon, memtest.Epoch, "moved", memtest.Person)...)
	valid := func(y int) memory.Query { return memory.Query{At: memory.At{ValidAt: year(y)}} }
	r.lists("valid before anything", ana, valid(2019))
	r.lists("valid in 2021", ana, valid(2021), "Ana lives in Berlin")
	r.lists("valid in 2023", ana, valid(2023), "Ana has a cat", "Ana lives in Berlin")
	r.lists("valid on the day of the move", ana, valid(2024), "Ana has a cat", "Ana lives in Lisbon")
	r.lists("current", ana, memory.Query{}, "Ana has a cat", "Ana lives in Lisbon")

	q := valid(2021)
	q.Statuses = []memory.Status{memory.Retired}
	r.lists("retired, valid in 2021", ana, q, "Ana lives in Rome")
	q = valid(2025)
	q.At.AsOf = before(knew.At)
	r.lists("valid in 2025, as of before the move was known", ana, q, "Ana has a cat", "Ana lives in Berlin")
	q.Kinds = []memory.Kind{memory.KindTurn}
	q.At.AsOf = time.Time{}
	r.append(ana, memtest.Batch(ana, "c", 0, "I moved"))
	r.lists("turns are true at any time", ana, q, "I moved")
}

func timesKeepMicrosecondsAndUTC(r *rig) {
	odd := time.Date(2025, time.March, 30, 1, 30, 0, 123_456_789, time.FixedZone("odd", 5400))
	want := time.Date(2025, time.March, 30, 0, 0, 0, 123_456_000, time.UTC)
	f := memtest.Fact(ana, "now")
	f.ObservedAt, f.ValidFrom, f.ValidTo, f.CreatedAt, f.UpdatedAt, f.ExpiresAt = odd, odd, odd, odd, odd, odd
	r.apply(ana, memtest.Add(f))
	b := memtest.Batch(ana, "c", 0, "hello")
	b.Turns[0].CreatedAt, b.Conversation.CreatedAt, b.Conversation.UpdatedAt = odd, odd, odd
	b.Jobs = []memory.Job{memtest.Job(ana, memory.JobLearn, "j")}
	b.Jobs[0].RunAt = odd
	r.append(ana, b)
	never := memtest.Fact(ana, "never")
	never.ObservedAt, never.UpdatedAt, never.CreatedAt = time.Time{}, time.Time{}, time.Time{}
	r.apply(ana, memtest.Add(never))
	old := memtest.Fact(ana, "long ago")
	old.ObservedAt = time.Date(1066, time.October, 14, 9, 0, 0, 1000, time.UTC)
	r.apply(ana, memtest.Add(old))

	stored := r.fact(ana, f.ID)
	journalled := r.changes(ana, memory.ChangeQuery{Fact: f.ID})[0].After.Fact
	turn, job := r.turns(ana, memory.TurnQuery{})[0], r.jobs(ana)[0]
	page, err := r.Conversations(r.Context(), ana, memory.ConversationQuery{})
	r.must("conversations", err)
	for what, got := range map[string]time.Time{
		"observed at": stored.ObservedAt, "valid from": stored.ValidFrom, "valid to": stored.ValidTo,
		"created at": stored.CreatedAt, "updated at": stored.UpdatedAt, "expires at": stored.ExpiresAt,
		"journalled observed at": journalled.ObservedAt, "turn created at": turn.CreatedAt, "job due at": job.RunAt,
		"conversation created at": page.Conversations[0].CreatedAt, "conversation updated at": page.Conversations[0].UpdatedAt,
	} {
		r.wantTime(what, got, want)
	}
	r.wantTime("time that is not set", r.fact(ana, never.ID).ObservedAt, time.Time{})
	r.wantTime("time before 1970", r.fact(ana, old.ID).ObservedAt, old.ObservedAt)
	r.same("as of a time between microseconds",
		len(r.list(ana, memory.Query{At: memory.At{AsOf: r.changes(ana, memory.ChangeQuery{})[0].At.Add(999 * time.Nanosecond)}})), 3)
}

// wantTime checks the time and the zone, which must be UTC itself.
func (r *rig) wantTime(what string, got, want time.Time) {
	r.Helper()
	if !got.Equal(want) || got != memory.Time(got) {
		r.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

func clockNeverGoesBack(r *rig) {
	r.clock.Step(-1) // every write asks at the same instant
	var receipts []memory.Receipt
	for i, step := range []time.Duration{0, 0, -time.Hour, time.Minute, -time.Second, 2 * time.Hour} {
		r.clock.Advance(step)
		index := 2 * i
		receipts = append(receipts,
			r.apply(ana, memtest.Add(memtest.Fact(ana, "fact "+string(rune('a'+i))))),
			r.append(ana, memtest.Batch(ana, "c", index, "hello", "hi")),
			r.apply(ana)) // of nothing, but a write
	}
	for i, next := range receipts[1:] {
		if !next.At.After(receipts[i].At) {
			r.Errorf("write %d: got time %v, want later than %v", i+1, next.At, receipts[i].At)
		}
	}
	if last, now := receipts[len(receipts)-3].At, r.clock.Now(); !last.Equal(memory.Time(now)) {
		r.Errorf("first write after the clock passed the last one: got %v, want now, %v", last, now)
	}
	journal := r.changes(ana, memory.ChangeQuery{})
	for i := range journal[1:] {
		if !journal[i].At.After(journal[i+1].At) {
			r.Errorf("journal entry %s at %v is not later than %s at %v", journal[i].ID, journal[i].At, journal[i+1].ID, journal[i+1].At)
		}
	}
	for i, turn := range r.turns(ana, memory.TurnQuery{}) {
		if want := receipts[3*(i/2)+1].At; !turn.RecordedAt.Equal(want) {
			r.Errorf("turn %d: got recorded at %v, want %v", i, turn.RecordedAt, want)
		}
	}
	if other := r.apply(ben, memtest.Add(memtest.Fact(ben, "x"))); !other.At.Equal(memory.Time(r.clock.Now())) {
		r.Errorf("another owner's clock: got %v, want now, %v", other.At, r.clock.Now())
	}
}
