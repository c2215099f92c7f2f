package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine"
	"github.com/loci-memory/loci/internal/engine/curate"
	"github.com/loci-memory/loci/memory"
)

func (d *handler) memoryOperations(a adder) {
	owned(a, http.MethodGet, "/api/memory", "list-memories", "List memories, newest first", d.list)
	operation(a, http.MethodPost, "/api/memory", "add-memory", "Add a fact", d.add, created)
	owned(a, http.MethodGet, "/api/memory/{id}", "get-memory", "Get one memory", func(ctx context.Context, by caller, in *getInput) (client.Memory, error) {
		return viewed(client.View)(d.engine.Retrieve.GetAt(ctx, by.owner, in.ID, in.at()))
	})
	owned(a, http.MethodPatch, "/api/memory/{id}", "edit-memory", "Change a fact", func(ctx context.Context, by caller, in *change[client.EditMemory]) (client.Written, error) {
		b := in.Body
		if b.Core == nil && b.Pinned != nil {
			b.Core = new(memory.Pin(*b.Pinned))
		}
		return d.changed(ctx, by, in.ID, curate.Edit{
			Content: b.Content, Category: b.Category, Tags: b.Tags, Confidence: b.Confidence, Core: b.Core, ExpiresAt: b.ExpiresAt, Metadata: b.Metadata, Idempotency: in.Key,
		})
	})
	owned(a, http.MethodDelete, "/api/memory/{id}", "delete-memory", "Forget or erase one memory; only forgetting can be undone", d.delete)
	for action, summary := range map[memory.Action]string{memory.ActionApprove: "Approve a pending fact", memory.ActionReject: "Reject a pending fact"} {
		owned(a, http.MethodPost, "/api/memory/{id}/"+string(action), string(action)+"-memory", summary, func(ctx context.Context, by caller, in *decideInput) (out client.Written, err error) {
			judged, _, err := d.engine.Curate.Judge(ctx, by.owner, []curate.Judgement{{ID: in.ID, Action: action}}, in.Key, by.author)
			if err != nil {
				return out, err
			}
			return client.Written{Memory: client.View(judged[0])}, nil
		})
	}
	owned(a, http.MethodPost, "/api/memory/{id}/restore", "restore-memory", "Restore a forgotten or superseded fact", func(ctx context.Context, by caller, in *decideInput) (client.Written, error) {
		return viewed(written(ctx, d.engine))(d.engine.Curate.Restore(ctx, by.owner, in.ID, in.Key, by.author))
	})
	owned(a, http.MethodPost, "/api/memory/{id}/pin", "pin-memory", "Pin a fact, or unpin it", func(ctx context.Context, by caller, in *change[*client.PinRequest]) (client.Written, error) {
		core := memory.Pin(in.Body == nil || in.Body.Pinned == nil || *in.Body.Pinned)
		return d.changed(ctx, by, in.ID, curate.Edit{Core: &core, Idempotency: in.Key})
	})
	owned(a, http.MethodPost, "/api/memory/{id}/feedback", "feedback-memory", "Report that a fact was useful or wrong", func(ctx context.Context, by caller, in *change[client.FeedbackRequest]) (client.Memory, error) {
		return viewed(factView)(d.engine.Curate.Rate(ctx, by.owner, in.ID, curate.Verdict(in.Body.Verdict), in.Key, by.author))
	})
}

// ByID is the id of a memory, trace or job. It is exported because huma ignores unexported embedded structs.
type ByID struct {
	ID string `path:"id" maxLength:"512"`
}

// Idempotent is a header that every write request accepts.
type Idempotent struct {
	Key string `header:"Idempotency-Key" maxLength:"256" doc:"A repeated key returns the first result and writes nothing."`
}

func (d *handler) list(ctx context.Context, by caller, in *client.ListQuery) (out client.Memories, err error) {
	kinds, err := split("kind", in.Kind, memory.KindFact, memory.KindTurn, memory.KindSummary)
	if err != nil {
		return out, err
	}
	statuses, err := split("status", in.Status, memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected)
	if err != nil {
		return out, err
	}
	page, err := d.engine.List(ctx, by.owner, memory.Query{
		Kinds:        kinds,
		Statuses:     statuses,
		Tag:          in.Tag,
		Category:     in.Category,
		Project:      in.Project,
		Conversation: in.Conversation,
		Text:         in.Text,
		Begins:       in.ID,
		At:           memory.At{AsOf: in.AsOf, ValidAt: in.ValidAt},
		Limit:        in.Limit,
		Cursor:       in.Cursor,
	})
	return client.Memories{Memories: views(page.Memories), Next: page.Next}, err
}

// parseList parses a comma-separated list of valid words; "all" means all valid words.
func split[T ~string](name, s string, valid ...T) ([]T, error) {
	var out []T
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case part == "all":
			return valid, nil
		case !slices.Contains(valid, T(part)):
			return nil, memory.Errorf(memory.Invalid, "%s: invalid value %q; valid: %v", name, part, valid)
		default:
			out = append(out, T(part))
		}
	}
	return out, nil
}

func factView(f memory.Fact) client.Memory { return client.View(memory.Memory{Fact: &f}) }

// writtenView returns a function that converts a new fact and the facts that the new fact replaced.
func written(ctx context.Context, e *engine.Engine) func(memory.Fact) client.Written {
	return func(f memory.Fact) client.Written {
		return client.Written{Memory: factView(f), Replaced: views(curate.Replaced(ctx, e.Core, f))}
	}
}

func views(memories []memory.Memory) []client.Memory { return each(memories, client.View) }

type addOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     client.Written
}

func (d *handler) add(ctx context.Context, in *write[client.AddMemory]) (*addOutput, error) {
	by, err := who(ctx)
	if err != nil {
		return nil, err
	}
	f, created, err := d.engine.Curate.Remember(ctx, by.owner, curate.Note{
		Content:     in.Body.Content,
		Category:    in.Body.Category,
		Tags:        in.Body.Tags,
		Project:     in.Body.Project,
		Agent:       in.Body.Agent,
		Confidence:  in.Body.Confidence,
		Core:        cmp.Or(in.Body.Core, memory.Pin(in.Body.Pinned)),
		ObservedAt:  timeOf(in.Body.ObservedAt),
		ExpiresAt:   timeOf(in.Body.ExpiresAt),
		Metadata:    in.Body.Metadata,
		Idempotency: in.Key,
	}, by.author)
	if err != nil {
		return nil, err
	}
	out := &addOutput{Status: http.StatusOK, Location: "/api/memory/" + f.ID, Body: client.Written{Memory: factView(f)}}
	if created {
		out.Status, out.Body = http.StatusCreated, written(ctx, d.engine)(f)
	}
	return out, nil
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// ReadTime selects the time of a read. It is exported for the same reason as [ByID].
type Then struct {
	AsOf    time.Time `query:"as_of" doc:"Read memory as it was at this time."`
	ValidAt time.Time `query:"valid_at" doc:"Only facts that were true at this time; a fact without a period of validity counts if it is current."`
}

func (t Then) at() memory.At { return memory.At{AsOf: t.AsOf, ValidAt: t.ValidAt} }

type getInput struct {
	ByID
	Then
}

func (d *handler) changed(ctx context.Context, by caller, id string, edit curate.Edit) (client.Written, error) {
	return viewed(written(ctx, d.engine))(d.engine.Curate.EditFact(ctx, by.owner, id, edit, by.author))
}

type decideInput struct {
	ByID
	Idempotent
}

type deleteInput struct {
	ByID
	Idempotent
	Erase bool `query:"erase" doc:"Delete the text permanently, with every memory that says the same. This cannot be undone."`
}

func (d *handler) delete(ctx context.Context, by caller, in *deleteInput) (out client.Receipt, err error) {
	gone, r, err := d.engine.Curate.ForgetMatching(ctx, by.owner, curate.Matching{IDs: []string{in.ID}, Erase: in.Erase, Idempotency: in.Key}, by.author)
	if err != nil {
		return out, err
	}
	out = receipt(r)
	if in.Erase {
		out.Held = d.held(gone, r)
	}
	return out, nil
}

// remainingCopies lists places, such as backups, that may contain the text of erased memories.
func (d *handler) held(gone []memory.Memory, r memory.Receipt) []string {
	if d.Held == nil || len(gone) == 0 {
		return r.Held
	}
	since := r.At
	for _, m := range gone {
		if at := m.CreatedAt(); at.Before(since) {
			since = at
		}
	}
	return append(slices.Clip(r.Held), d.Held(since, r.At)...)
}

func receipt(r memory.Receipt) client.Receipt {
	return client.Receipt{Run: r.Run, Changes: r.Changes, At: r.At, Traces: r.Traces}
}
