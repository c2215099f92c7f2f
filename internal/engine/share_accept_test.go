package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/internal/engine/retrieve"
	"github.com/loci-memory/loci/internal/engine/share"
	"github.com/loci-memory/loci/memory"
)

var admin = memory.Author{Kind: memory.ByPerson, Name: "ana", Admin: true}

// offer shares a fact of Ana's with Ben, and leaves it to him.
func (r *rig) offer(t *testing.T, id string) {
	t.Helper()
	noError(t)(r.Share.Share(context.Background(), ana, id, share.Request{Receiver: "user/ben"}, her))
}

// reword gives a fact of Ana's other words and lets jobs run, without anybody's consent.
func (r *rig) reword(t *testing.T, id, words string, author memory.Author) {
	t.Helper()
	noError(t)(r.Curate.EditFact(context.Background(), ana, id, curate.FactEdit{Content: &words}, author))
	r.jobs(t)
}

func (r *rig) jobs(t *testing.T) {
	t.Helper()
	noError(t)(r.work(context.Background()))
}

func (r *rig) wantWaiting(t *testing.T, owner memory.Owner, want ...string) {
	t.Helper()
	page := try(r.Curate.PendingFacts(context.Background(), owner, 0, "")).orFail(t)
	var got []string
	for _, w := range page.Facts {
		got = append(got, w.Memory.Content())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q wait for %s, want %q", got, owner, want)
	}
	counts, err := r.Stats(context.Background(), owner)
	if err != nil || counts.Pending != len(want) {
		t.Errorf("%d are counted as waiting for %s, %v; want %d", counts.Pending, owner, err, len(want))
	}
}

func (r *rig) decide(t *testing.T, action memory.Action, id string) memory.Receipt {
	t.Helper()
	_, receipt, err := r.Curate.Judge(context.Background(), ben, []curate.Judgement{{ID: id, Action: action}}, "", him)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func (r *rig) block(t *testing.T, owner memory.Owner, question string) string {
	t.Helper()
	return r.prepare(context.Background(), retrieve.Question{Scope: memory.Scope{Owner: owner}, Text: question}).Block
}

func TestSharedFactWaitsForItsReceiver(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "The backend runs on Bun")
		r.offer(t, f.ID)
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben, f.Content)
		if got := r.ask(t, ben, "What does the backend run on?", memory.At{}); len(got) > 0 {
			t.Errorf("before consent Ben's search finds %q", got)
		}
		if got := r.block(t, ben, "What does the backend run on?"); strings.Contains(got, "Bun") {
			t.Errorf("before consent Ben's prompt has %q", got)
		}
		w := try(r.Curate.PendingFacts(ctx, ben, 0, "")).orFail(t).Facts[0]
		if w.Memory.Link == nil || w.Memory.Fact.Scope.Owner != ana || w.Reason != "shared by user/ana" {
			t.Errorf("the review shows %+v because %q, want a link to Ana's fact, shared by user/ana", w.Memory, w.Reason)
		}

		approved := r.decide(t, memory.ActionApprove, f.ID)
		r.wantSeen(t, ben, f.Content)
		r.wantWaiting(t, ben)
		if got := r.block(t, ben, "What does the backend run on?"); !strings.Contains(got, "shared by ana: The backend runs on Bun") {
			t.Errorf("Ben's prompt has %q, want the fact and who shared it", got)
		}
		noError(t)(r.Curate.Undo(ctx, ben, curate.UndoRequest{RunID: approved.Run}, him))
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben, f.Content)

		rejected := r.decide(t, memory.ActionReject, f.ID)
		r.jobs(t)
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben)
		if _, err := r.Share.Share(ctx, ana, f.ID, share.Request{Receiver: "user/ben"}, her); !errors.Is(err, memory.Conflict) {
			t.Errorf("sharing again what Ben rejected: %v, want a conflict", err)
		}
		r.wantWaiting(t, ben)
		noError(t)(r.Curate.Undo(ctx, ben, curate.UndoRequest{RunID: rejected.Run}, him))
		r.wantWaiting(t, ben, f.Content)
	})
}

func TestSharedFactIsJudgedAsItWasSeen(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "The shop opens at nine")
		r.offer(t, f.ID)
		judge := func(j curate.Judgement) error {
			j.ID = f.ID
			_, _, err := r.Curate.Judge(ctx, ben, []curate.Judgement{j}, "", him)
			return err
		}
		if err := judge(curate.Judgement{Action: memory.ActionApprove, Content: "The shop opens at eight"}); !errors.Is(err, memory.Invalid) {
			t.Errorf("approved in other words: %v, want invalid", err)
		}
		words := "The shop opens at ten"
		noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Content: &words}, her))
		if err := judge(curate.Judgement{Action: memory.ActionApprove}); !errors.Is(err, memory.Conflict) {
			t.Errorf("approved between the edit and its job: %v, want a conflict", err)
		}
		r.jobs(t)
		if err := judge(curate.Judgement{Action: memory.ActionApprove, SeenText: f.Content}); !errors.Is(err, memory.Conflict) {
			t.Errorf("approved by the old words: %v, want a conflict", err)
		}
		r.wantWaiting(t, ben, words)
		if err := judge(curate.Judgement{Action: memory.ActionApprove, SeenText: words}); err != nil {
			t.Error(err)
		}
		r.wantSeen(t, ben, words)
	})
}

func TestEditedSharedFactWaitsAgain(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		f := r.note(t, ana, "The backend runs on Bun")
		r.offer(t, f.ID)
		r.decide(t, memory.ActionApprove, f.ID)
		tags := []string{"shop"}
		noError(t)(r.Curate.EditFact(ctx, ana, f.ID, curate.FactEdit{Tags: &tags}, her))
		r.jobs(t)
		r.wantSeen(t, ben, f.Content) // it says the same

		node := "The backend runs on Node"
		r.reword(t, f.ID, node, her)
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben, node)
		if got := r.ask(t, ben, "What does the backend run on?", memory.At{}); len(got) > 0 {
			t.Errorf("Ben's search finds %q, want nothing: the old words are withdrawn, the new ones wait", got)
		}
		r.decide(t, memory.ActionApprove, f.ID)
		r.wantSeen(t, ben, node)

		// Words that were accepted are shown again when the same words come back.
		receipt := try(r.Curate.Forget(ctx, ana, []string{f.ID}, "no longer", her)).orFail(t)
		r.jobs(t)
		r.wantSeen(t, ben)
		noError(t)(r.Curate.Undo(ctx, ana, curate.UndoRequest{RunID: receipt.Run}, her))
		r.jobs(t)
		r.wantSeen(t, ben, node)
		r.wantWaiting(t, ben)
	})
}

func TestReplacementOfASharedFactWaits(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		says := func(words string) {
			t.Helper()
			noError(t)(r.Exchange.Ingest(ctx, ana, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: words}}, Learn: true}))
			r.clock.Advance(time.Hour)
			r.jobs(t)
		}
		says("I live in Lisbon.")
		page := try(r.List(ctx, ana, memory.Query{Kinds: []memory.Kind{memory.KindFact}})).orFail(t)
		r.offer(t, page.Memories[0].ID())
		r.decide(t, memory.ActionApprove, page.Memories[0].ID())
		says("I live in Porto now.")
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben, "User lives in Porto")
	})
}

func TestWithdrawnShareWaitsNoMore(t *testing.T) {
	for name, withdraw := range map[string]func(t *testing.T, r *rig, id string) error{
		"ended": func(t *testing.T, r *rig, id string) error {
			return errOf(r.Share.Share(context.Background(), ana, id, share.Request{Receiver: "user/ben", Stop: true}, her))
		},
		"forgotten": func(t *testing.T, r *rig, id string) error {
			return errOf(r.Curate.Forget(context.Background(), ana, []string{id}, "x", her))
		},
		"steering": func(t *testing.T, r *rig, id string) error {
			words := steering
			_, err := r.Curate.EditFact(context.Background(), ana, id, curate.FactEdit{Content: &words}, her)
			return err
		},
		"erased": func(t *testing.T, r *rig, id string) error {
			return errOf(r.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{IDs: []string{id}, Erase: true}, her))
		},
		"sender erased": func(t *testing.T, r *rig, id string) error {
			return errOf(r.Erase.EraseOwner(context.Background(), ana, her))
		},
		"receiver erased": func(t *testing.T, r *rig, id string) error {
			return errOf(r.Erase.EraseOwner(context.Background(), ben, him))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				f := r.note(t, ana, "The door code is marzipan")
				r.offer(t, f.ID)
				r.wantWaiting(t, ben, f.Content)
				noError(t)(withdraw(t, r, f.ID))
				r.jobs(t)
				r.wantWaiting(t, ben)
				r.wantSeen(t, ben)
				if strings.Contains(name, "erased") {
					r.lacksWord(t, ben, "marzipan")
				}
				if _, _, err := r.Curate.Judge(context.Background(), ben, []curate.Judgement{{ID: f.ID, Action: memory.ActionApprove}}, "", him); err == nil {
					t.Error("what was withdrawn could be approved")
				}
				r.wantSeen(t, ben)
			})
		})
	}
}

func TestSenderHasOnlySoManyWaiting(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		shareFact := func(n int, to string) error {
			f := r.note(t, ana, fmt.Sprintf("Locker %d holds item %d", n, n*7))
			_, err := r.Share.Share(ctx, ana, f.ID, share.Request{Receiver: to}, her)
			return err
		}
		for n := range share.MaxPendingShares {
			noError(t)(shareFact(n, "user/ben"))
		}
		err := shareFact(100, "user/ben")
		if !errors.Is(err, memory.TooLarge) || !strings.Contains(err.Error(), "20 facts already wait for a decision by user/ben") {
			t.Errorf("one more than may wait: %v", err)
		}
		if err := shareFact(101, "user/cy"); err != nil {
			t.Errorf("shared with another: %v", err)
		}
		if f, _, err := r.Curate.Remember(ctx, eve, curate.FactInput{Content: eves}, her); err != nil {
			t.Fatal(err)
		} else if _, err := r.Share.Share(ctx, eve, f.ID, share.Request{Receiver: "user/ben"}, her); err != nil {
			t.Errorf("shared by another: %v", err)
		}
		page := try(r.Curate.PendingFacts(ctx, ben, 0, "")).orFail(t)
		if len(page.Facts) != share.MaxPendingShares+1 {
			t.Fatalf("%d wait for Ben, want %d", len(page.Facts), share.MaxPendingShares+1)
		}
		ofAna := slices.DeleteFunc(page.Facts, func(w curate.PendingFact) bool { return w.Memory.Fact.Scope.Owner != ana })
		r.decide(t, memory.ActionReject, ofAna[0].Memory.ID())
		if err := shareFact(102, "user/ben"); err != nil {
			t.Errorf("after one was rejected: %v", err)
		}
		if err := shareFact(103, "user/ben"); !errors.Is(err, memory.TooLarge) {
			t.Errorf("the next one: %v, want too large", err)
		}

		// An erased receiver looks like one who decides nothing.
		noError(t)(r.Erase.EraseOwner(ctx, ben, him))
		for n := range share.MaxPendingShares {
			noError(t)(shareFact(200+n, "user/ben"))
		}
		if err := shareFact(300, "user/ben"); !errors.Is(err, memory.TooLarge) {
			t.Errorf("with an erased receiver: %v, want too large", err)
		}
	})
}

func TestAdminsShareWithoutConsentIfSet(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		r.Opts.Acceptance = share.AcceptAdmins
		byUser, byAdmin := r.note(t, ana, "The shop opens at nine"), r.note(t, ana, "The backend runs on Bun")
		r.offer(t, byUser.ID)
		noError(t)(r.Share.Share(ctx, ana, byAdmin.ID, share.Request{Receiver: "user/ben", ByAdmin: true}, her))
		r.wantSeen(t, ben, byAdmin.Content)
		r.wantWaiting(t, ben, byUser.Content)
		r.reword(t, byUser.ID, "The shop opens at ten", admin) // the share is Ana's still
		r.wantWaiting(t, ben, "The shop opens at ten")
		r.reword(t, byAdmin.ID, "The backend runs on Node", admin)
		r.wantSeen(t, ben, "The backend runs on Node")
		r.reword(t, byAdmin.ID, "The backend runs on Perl", her)
		r.wantSeen(t, ben)
		r.wantWaiting(t, ben, "The backend runs on Perl", "The shop opens at ten")
	})
}

func TestSharingWithUsersCanBeOff(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		shared, fresh := r.note(t, ana, "The shop opens at nine"), r.note(t, ana, "The backend runs on Bun")
		r.share(t, shared.ID, "user/ben", false)
		r.Opts.Acceptance = share.AcceptOff
		if _, err := r.Share.Share(ctx, ana, fresh.ID, share.Request{Receiver: "user/ben", ByAdmin: true}, her); !errors.Is(err, memory.Forbidden) || !strings.Contains(err.Error(), "share.accept") {
			t.Errorf("shared with a user: %v, want forbidden by share.accept", err)
		}
		r.wantSeen(t, ben, shared.Content)
		if _, err := r.Share.Share(ctx, ana, fresh.ID, share.Request{Receiver: "pool/team", ByAdmin: true}, her); err != nil {
			t.Errorf("shared with a pool: %v", err)
		}
		r.wantSeen(t, team, fresh.Content)
		r.share(t, shared.ID, "user/ben", true)
		r.wantSeen(t, ben)
	})
}

func TestOwnFactOverrulesASharedOne(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		const question = "What does the backend of the shop run on?"
		own := try(r.noteBy(ben, "The backend of the shop does not run on Bun")).orFail(t)
		f := r.note(t, ana, "The backend of the shop runs on Bun")
		r.offer(t, f.ID)
		w := try(r.Curate.PendingFacts(ctx, ben, 0, "")).orFail(t).Facts[0]
		if len(w.Conflicts) != 1 || w.Conflicts[0].ID != own.ID {
			t.Errorf("the review shows it against %+v, want Ben's own fact", w.Conflicts)
		}
		r.decide(t, memory.ActionApprove, f.ID)
		r.wantSeen(t, ben, own.Content, f.Content) // nothing is replaced
		if got := r.ask(t, ben, question, memory.At{}); !slices.Equal(got, []string{own.Content}) {
			t.Errorf("Ben's search finds %q, want his own fact alone", got)
		}
		if got := r.block(t, ben, question); strings.Contains(got, "shared by ana") || !strings.Contains(got, own.Content) {
			t.Errorf("Ben's prompt has %q, want his own fact alone", got)
		}
		noError(t)(r.Curate.Forget(ctx, ben, []string{own.ID}, "x", him))
		if got := r.ask(t, ben, question, memory.At{}); !slices.Equal(got, []string{f.Content}) {
			t.Errorf("without his own fact Ben's search finds %q, want the shared one", got)
		}
	})
}

// noteBy writes a fact by hand for another owner than Ana.
func (r *rig) noteBy(owner memory.Owner, words string) (memory.Fact, error) {
	f, _, err := r.Curate.Remember(context.Background(), owner, curate.FactInput{Content: words}, him)
	return f, err
}

func TestSharedFactHidesNoOwnStatement(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		t.Run(fmt.Sprintf("accepted %v", accepted), func(t *testing.T) {
			onEach(t, func(t *testing.T, r *rig) {
				ctx := context.Background()
				const words = "The backend of the shop runs on Bun"
				f := r.note(t, ana, words)
				r.offer(t, f.ID)
				if accepted {
					r.decide(t, memory.ActionApprove, f.ID)
				}
				noError(t)(r.Exchange.Ingest(ctx, ben, exchange.IngestRequest{Messages: []exchange.Message{{Role: memory.RoleUser, Content: "Remember that the backend of the shop runs on Bun."}}, Learn: true}))
				r.clock.Advance(time.Hour)
				r.jobs(t)
				var own []string
				noError(t)(r.EachMemory(ctx, ben, memory.Query{Kinds: []memory.Kind{memory.KindFact}}, func(m memory.Memory) {
					if m.Link == nil {
						own = append(own, m.Content())
					}
				}))
				if !slices.Contains(own, words) {
					t.Errorf("Ben's own facts are %q, want what he said among them", own)
				}
				if got := r.block(t, ben, "What does the backend of the shop run on?"); !strings.Contains(strings.ReplaceAll(got, "shared by ana: "+words, ""), words) {
					t.Errorf("Ben's prompt has %q, want his own words", got)
				}
			})
		})
	}
}
