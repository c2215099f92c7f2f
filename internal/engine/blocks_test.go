package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/internal/engine/exchange"
	"github.com/loci-memory/loci/memory"
)

// step is what a step of a tool loop is given, the first or a later one of the same.
func (r *rig) step(t *testing.T, owner memory.Owner, later bool) string {
	t.Helper()
	messages := `{"role":"user","content":"What does the cellar hold?"}`
	if later {
		messages += `,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"It is dark."}`
	}
	ctx := context.Background()
	x := r.Exchange.Open(ctx, exchange.Incoming{Owner: owner, Chat: decode(t, `[`+messages+`]`), ChatID: "chat-" + owner.Name()})
	given := x.Prepare(ctx).Block
	x.RecordQuestion(ctx)
	r.Background.Wait()
	return given
}

// TestErasedWordsAreNotGivenToALoopThatGoesOn: of whoever was given them, and when it goes
// on at once, or after the owner is there again; also where it stands in the core.
func TestErasedWordsAreNotGivenToALoopThatGoesOn(t *testing.T) {
	for _, to := range []string{"", "user/ben", "pool/team", "global"} {
		for i := range 4 {
			whole, inCore := i%2 == 1, i > 1
			t.Run(fmt.Sprintf("shared with %s, whole %v, core %v", strings.ReplaceAll(to, "/", " "), whole, inCore), func(t *testing.T) {
				onEach(t, func(t *testing.T, r *rig) {
					if inCore {
						r.core(t)
					}
					ctx, asks := context.Background(), []memory.Owner{ana}
					r.Opts.Recall.Pools, r.Opts.Recall.BootstrapBelowFacts = []string{"team"}, 3
					f := r.note(t, ana, "The cellar holds marzipan")
					r.note(t, di, "The cellar holds granite")
					if to != "" {
						r.share(t, f.ID, to, false)
						asks = append(asks, ben)
					}
					for _, o := range asks {
						if got := r.step(t, o, false); !strings.Contains(got, sweet) || got != r.step(t, o, true) {
							t.Fatalf("%s is given %q, want the word, and the same again", o, got)
						}
					}
					others := r.step(t, di, false)
					if whole {
						noError(t)(r.Erase.EraseOwner(ctx, ana, her))
						noError(t)(r.Erase.OpenOwner(ctx, ana, her))
					} else if _, _, err := r.Curate.ForgetMatching(ctx, ana, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her); err != nil {
						t.Fatal(err)
					}
					for _, o := range asks {
						if got := r.step(t, o, true); strings.Contains(got, sweet) {
							t.Errorf("%s is given %q again", o, got)
						}
					}
					if _, kept := r.Blocks.Get(di, r.chainIn(t, di)); !kept {
						t.Error("what another was given is forgotten, too")
					}
					if got := r.step(t, di, true); got != others {
						t.Errorf("another is given %q, want the same as before, %q", got, others)
					}
				})
			})
		}
	}
}

// chainIn returns the chain of the user turn that [rig.step] asks by.
func (r *rig) chainIn(t *testing.T, owner memory.Owner) string {
	t.Helper()
	turns, err := r.Store.Turns(context.Background(), owner, memory.TurnQuery{Conversation: "chat-" + owner.Name()})
	if err != nil || len(turns) == 0 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	return turns[0].Chain
}

// TestALoopKeepsWhatIsForgottenMeanwhile: its bytes stay as they were.
func TestALoopKeepsWhatIsForgottenMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		f := r.note(t, ana, "The cellar holds marzipan")
		first := r.step(t, ana, false)
		noError(t)(r.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{IDs: []string{f.ID}}, her))
		if got := r.step(t, ana, true); got != first || !strings.Contains(got, sweet) {
			t.Errorf("the next step is given %q, want %q", got, first)
		}
	})
}

// TestALoopGoesOnWithoutWhatAnotherServerErased, once that is told; or where it may be.
func TestALoopGoesOnWithoutWhatAnotherServerErased(t *testing.T) {
	for _, told := range [][]memory.Owner{{ana, team}, {""}} {
		s := servers(t, 2)
		a, b := s[0], s[1]
		b.Opts.Recall.Pools = []string{"team"}
		f := a.note(t, ana, "The cellar holds marzipan")
		a.share(t, f.ID, "pool/team", false)
		for _, o := range []memory.Owner{ana, ben} {
			if got := b.step(t, o, false); !strings.Contains(got, sweet) {
				t.Fatalf("%s is given %q", o, got)
			}
		}
		noError(t)(a.Curate.ForgetMatching(context.Background(), ana, curate.ForgetRequest{IDs: []string{f.ID}, Erase: true}, her))
		for _, o := range told {
			b.Traces.ForgetErased(o)
		}
		for _, o := range []memory.Owner{ana, ben} {
			if got := b.step(t, o, true); strings.Contains(got, sweet) {
				t.Errorf("after %q was told %s is given %q again", told, o, got)
			}
		}
	}
}

// TestWhatCameTooLateForAnErasureIsForgotten: what a chat under way was given is kept once
// the owner is closed. It goes when a server sees that the owner is, or opens them again.
func TestWhatCameTooLateForAnErasureIsForgotten(t *testing.T) {
	ctx := context.Background()
	for what, end := range map[string]func(a, b *rig) error{
		"opened":                        func(a, _ *rig) error { return a.Erase.OpenOwner(ctx, ana, her) },
		"seen closed by another server": func(_, b *rig) error { return errOf(b.IsClosed(ctx, ana)) },
	} {
		s := servers(t, 2)
		a, b := s[0], s[1]
		noError(t)(a.Erase.EraseOwner(ctx, ana, her))
		for _, o := range []memory.Owner{ana, ben} {
			for _, r := range s {
				r.Blocks.Put(core.CachedBlock{Owner: o, ChainHash: "c", Text: "The cellar holds marzipan"}, r.Blocks.Epoch())
			}
		}
		noError(t)(end(a, b))
		at := map[string]*rig{"opened": a, "seen closed by another server": b}[what]
		if _, kept := at.Blocks.Get(ana, "c"); kept {
			t.Errorf("%s: it is kept", what)
		}
		if _, kept := at.Blocks.Get(ben, "c"); !kept {
			t.Errorf("%s: another's is gone", what)
		}
	}
}

// A block whose memories were read before something was erased, and that comes after it,
// is not kept.
func TestABlockThatComesTooLateIsNotKept(t *testing.T) {
	c := core.NewBlockCache()
	begun := c.Epoch()
	c.Forget(core.BlockOwnedBy(ana))
	c.Put(core.CachedBlock{Owner: ana, ChainHash: "c", Text: "The cellar holds marzipan"}, begun)
	if b, ok := c.Get(ana, "c"); ok {
		t.Errorf("kept %+v", b)
	}
	c.Put(core.CachedBlock{Owner: ana, ChainHash: "c", Text: "The cellar is empty"}, c.Epoch())
	if _, ok := c.Get(ana, "c"); !ok {
		t.Error("a block that began since is not kept")
	}
}
