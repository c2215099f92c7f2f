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

func (d *handler) addMemoryOperations(a registrar) {
	registerForCaller(a, http.MethodGet, "/api/memory", "list-memories", "List memories, newest first", d.listMemories)
	register(a, http.MethodPost, "/api/memory", "add-memory", "Add a fact", d.addMemory, withStatusCreated)
	registerForCaller(a, http.MethodGet, "/api/memory/{id}", "get-memory", "Get one memory", func(ctx context.Context, by caller, in *getMemoryInput) (client.Memory, error) {
		return mapResult(client.View)(d.engine.Retrieve.GetAt(ctx, by.owner, in.ID, in.at()))
	})
	registerForCaller(a, http.MethodPatch, "/api/memory/{id}", "edit-memory", "Change a fact", func(ctx context.Context, by caller, in *changeRequest[client.EditMemory]) (client.Written, error) {
		b := in.Body
		if b.Core == nil && b.Pinned != nil {
			b.Core = new(memory.Pin(*b.Pinned))
		}
		return d.editFact(ctx, by, in.ID, curate.FactEdit{
			Content: b.Content, Category: b.Category, Tags: b.Tags, Confidence: b.Confidence, Core: b.Core, ExpiresAt: b.ExpiresAt, Metadata: b.Metadata, IdempotencyKey: in.Key,
		})
	})
	registerForCaller(a, http.MethodDelete, "/api/memory/{id}", "delete-memory", "Forget or erase one memory; only forgetting can be undone", d.deleteMemory)
	for action, summary := range map[memory.Action]string{memory.ActionApprove: "Approve a pending fact", memory.ActionReject: "Reject a pending fact"} {
		registerForCaller(a, http.MethodPost, "/api/memory/{id}/"+string(action), string(action)+"-memory", summary, func(ctx context.Context, by caller, in *factInput) (out client.Written, err error) {
			judged, _, err := d.engine.Curate.Judge(ctx, by.owner, []curate.Judgement{{ID: in.ID, Action: action}}, in.Key, by.author)
			if err != nil {
				return out, err
			}
			return client.Written{Memory: client.View(judged[0])}, nil
		})
	}
	registerForCaller(a, http.MethodPost, "/api/memory/{id}/restore", "restore-memory", "Restore a forgotten or superseded fact", func(ctx context.Context, by caller, in *factInput) (client.Written, error) {
		return mapResult(writtenView(ctx, d.engine))(d.engine.Curate.Restore(ctx, by.owner, in.ID, in.Key, by.author))
	})
	registerForCaller(a, http.MethodPost, "/api/memory/{id}/pin", "pin-memory", "Pin a fact, or unpin it", func(ctx context.Context, by caller, in *changeRequest[*client.PinRequest]) (client.Written, error) {
		core := memory.Pin(in.Body == nil || in.Body.Pinned == nil || *in.Body.Pinned)
		return d.editFact(ctx, by, in.ID, curate.FactEdit{Core: &core, IdempotencyKey: in.Key})
	})
	registerForCaller(a, http.MethodPost, "/api/memory/{id}/feedback", "feedback-memory", "Report that a fact was useful or wrong", func(ctx context.Context, by caller, in *changeRequest[client.FeedbackRequest]) (client.Memory, error) {
		return mapResult(factView)(d.engine.Curate.Rate(ctx, by.owner, in.ID, curate.Verdict(in.Body.Verdict), in.Key, by.author))
	})
}

// ByID is the path parameter with the id of a memory, chat, context, trace or job. It is exported because huma ignores
// unexported embedded structs.
type ByID struct {
	ID string `path:"id" maxLength:"512"`
}

// Idempotent is a header that every write request accepts.
type Idempotent struct {
	Key string `header:"Idempotency-Key" maxLength:"256" doc:"A repeated key returns the first result and writes nothing."`
}

func (d *handler) listMemories(ctx context.Context, by caller, in *client.ListQuery) (out client.Memories, err error) {
	kinds, err := parseList("kind", in.Kind, memory.KindFact, memory.KindTurn, memory.KindSummary)
	if err != nil {
		return out, err
	}
	statuses, err := parseList("status", in.Status, memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected)
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
		IDPrefix:     in.IDPrefix,
		At:           memory.At{AsOf: in.AsOf, ValidAt: in.ValidAt},
		Limit:        in.Limit,
		Cursor:       in.Cursor,
	})
	return client.Memories{Memories: memoryViews(page.Memories), Next: page.Next}, err
}

// parseList parses a comma-separated list of valid words; "all" means all valid words.
func parseList[T ~string](name, list string, valid ...T) ([]T, error) {
	var out []T
	for part := range strings.SplitSeq(list, ",") {
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
func writtenView(ctx context.Context, e *engine.Engine) func(memory.Fact) client.Written {
	return func(f memory.Fact) client.Written {
		return client.Written{Memory: factView(f), Replaced: memoryViews(curate.ReplacedFacts(ctx, e.Core, f))}
	}
}

func memoryViews(memories []memory.Memory) []client.Memory { return mapSlice(memories, client.View) }

type addOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     client.Written
}

func (d *handler) addMemory(ctx context.Context, in *writeRequest[client.AddMemory]) (*addOutput, error) {
	by, err := callerOf(ctx)
	if err != nil {
		return nil, err
	}
	f, created, err := d.engine.Curate.Remember(ctx, by.owner, curate.FactInput{
		Content:        in.Body.Content,
		Category:       in.Body.Category,
		Tags:           in.Body.Tags,
		Project:        in.Body.Project,
		Agent:          in.Body.Agent,
		Confidence:     in.Body.Confidence,
		Core:           cmp.Or(in.Body.Core, memory.Pin(in.Body.Pinned)),
		ObservedAt:     timeOrZero(in.Body.ObservedAt),
		ExpiresAt:      timeOrZero(in.Body.ExpiresAt),
		Metadata:       in.Body.Metadata,
		IdempotencyKey: in.Key,
	}, by.author)
	if err != nil {
		return nil, err
	}
	out := &addOutput{Status: http.StatusOK, Location: "/api/memory/" + f.ID, Body: client.Written{Memory: factView(f)}}
	if created {
		out.Status, out.Body = http.StatusCreated, writtenView(ctx, d.engine)(f)
	}
	return out, nil
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// ReadTime selects the time of a read.
type ReadTime struct {
	AsOf    time.Time `query:"as_of" doc:"Read memory as it was at this time."`
	ValidAt time.Time `query:"valid_at" doc:"Only facts that were true at this time; a fact without a period of validity counts if it is current."`
}

func (t ReadTime) at() memory.At { return memory.At{AsOf: t.AsOf, ValidAt: t.ValidAt} }

type getMemoryInput struct {
	ByID
	ReadTime
}

func (d *handler) editFact(ctx context.Context, by caller, id string, edit curate.FactEdit) (client.Written, error) {
	return mapResult(writtenView(ctx, d.engine))(d.engine.Curate.EditFact(ctx, by.owner, id, edit, by.author))
}

type factInput struct {
	ByID
	Idempotent
}

type deleteMemoryInput struct {
	ByID
	Idempotent
	Erase bool `query:"erase" doc:"Delete the text permanently, with every memory that says the same. This cannot be undone."`
}

func (d *handler) deleteMemory(ctx context.Context, by caller, in *deleteMemoryInput) (out client.Receipt, err error) {
	erased, r, err := d.engine.Curate.ForgetMatching(ctx, by.owner, curate.ForgetRequest{IDs: []string{in.ID}, Erase: in.Erase, IdempotencyKey: in.Key}, by.author)
	if err != nil {
		return out, err
	}
	out = receiptView(r)
	if in.Erase {
		out.TextRemainsIn = d.remainingCopies(erased, r)
	}
	return out, nil
}

// remainingCopies lists places, such as backups, that may contain the text of erased memories.
func (d *handler) remainingCopies(erased []memory.Memory, r memory.Receipt) []string {
	if d.RemainingCopies == nil || len(erased) == 0 {
		return r.TextRemainsIn
	}
	since := r.At
	for _, m := range erased {
		if at := m.CreatedAt(); at.Before(since) {
			since = at
		}
	}
	return append(slices.Clip(r.TextRemainsIn), d.RemainingCopies(since, r.At)...)
}

func receiptView(r memory.Receipt) client.Receipt {
	return client.Receipt{Run: r.Run, Changes: r.Changes, At: r.At, Traces: r.Traces}
}
