package chats

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/engine/core"
	"github.com/loci-memory/loci/memory"
)

// EventType is the kind of a chat event.
type EventType string

// The types of events.
const (
	EventPrompt   EventType = "prompt"   // a message of the user
	EventRecall   EventType = "recall"   // recalled memories, from the trace; only recent traces are stored
	EventResponse EventType = "response" // an answer
	EventOther    EventType = "other"    // a message of a tool or an application
	EventMemory   EventType = "memory"   // a change of memory, such as learned, replaced or forgotten
)

// typeOrder is the order of events with the same time.
var typeOrder = []EventType{EventPrompt, EventRecall, EventOther, EventResponse, EventMemory}

// Event is one step of a chat. Exactly one of Turn, Trace and Change is set.
type Event struct {
	ID     string
	Type   EventType
	At     time.Time // time of recording
	Turn   *memory.Turn
	Trace  *memory.Trace
	Change *memory.Change
}

// EventPage is a page of a chat's events. Next is "" on the last page.
type EventPage struct {
	Events []Event
	Next   string
}

// Default and maximum number of events on a page.
const (
	defaultEvents = 50
	maxEvents     = 500
)

// Events returns a chat's events in the order of recording: messages of all branches, recalled memories and
// changes of memory. Events are derived from turns, traces and the journal, so they contain no erased text.
// A cursor continues after the last returned event. It returns [memory.NotFound] for an unknown chat.
func (e *Chats) Events(ctx context.Context, owner memory.Owner, chatID string, limit int, cursor string) (EventPage, error) {
	if _, err := e.Chat(ctx, owner, chatID); err != nil {
		return EventPage{}, err
	}
	var all []Event
	for _, readEvents := range []func(context.Context, memory.Owner, string) ([]Event, error){e.turnEvents, e.traceEvents, e.changeEvents} {
		part, err := readEvents(ctx, owner, chatID)
		if err != nil {
			return EventPage{}, err
		}
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b Event) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	if limit <= 0 {
		limit = defaultEvents
	}
	limit = min(limit, maxEvents)
	start := 0
	if cursor != "" {
		start = slices.IndexFunc(all, func(x Event) bool { return x.sortKey() > cursor })
		if start < 0 {
			start = len(all)
		}
	}
	page := EventPage{Events: all[start:min(start+limit, len(all))]}
	if start+limit < len(all) {
		page.Next = page.Events[limit-1].sortKey()
	}
	return page, nil
}

// sortKey returns an event's sort key, which is also its cursor.
func (x Event) sortKey() string {
	runOrder := ""
	if x.Change != nil { // the number after the slash in the id orders the changes of a run
		_, ordinal, _ := strings.Cut(x.ID, "/")
		runOrder = fmt.Sprintf("%08s", ordinal)
	}
	return x.At.UTC().Format("2006-01-02T15:04:05.000000000Z") + fmt.Sprint(slices.Index(typeOrder, x.Type)) + runOrder + x.ID
}

// turnEvents returns the messages as events, without the text of forgotten messages.
func (e *Chats) turnEvents(ctx context.Context, owner memory.Owner, chatID string) ([]Event, error) {
	turns, err := e.Store.Turns(ctx, owner, memory.TurnQuery{
		Conversation: chatID, Statuses: []memory.Status{memory.Active, memory.Replaced, memory.Retired},
	})
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	out := make([]Event, 0, len(turns))
	for _, t := range turns {
		eventType := EventOther
		switch t.Role {
		case memory.RoleUser:
			eventType = EventPrompt
		case memory.RoleAssistant:
			eventType = EventResponse
		}
		if t.Status == memory.Retired {
			t.Content = ""
		}
		out = append(out, Event{ID: t.ID, Type: eventType, At: t.RecordedAt, Turn: &t})
	}
	return out, nil
}

func (e *Chats) traceEvents(ctx context.Context, owner memory.Owner, chatID string) ([]Event, error) {
	traces, err := e.Traces.Traces(ctx, owner, memory.TraceQuery{Conversation: chatID, Limit: maxEvents})
	if err != nil {
		return nil, fmt.Errorf("list traces: %w", err)
	}
	out := make([]Event, 0, len(traces))
	for _, t := range traces {
		out = append(out, Event{ID: t.ID, Type: EventRecall, At: t.At, Trace: &t})
	}
	return out, nil
}

// changeEvents returns the changes of the chat, its turns, its summaries and its facts.
func (e *Chats) changeEvents(ctx context.Context, owner memory.Owner, chatID string) ([]Event, error) {
	queries := []memory.ChangeQuery{{Target: "conversation:" + chatID}}
	query := memory.Query{Kinds: []memory.Kind{memory.KindFact, memory.KindSummary, memory.KindTurn}, Statuses: core.AllStatuses, Conversation: chatID}
	err := e.EachMemory(ctx, owner, query, func(m memory.Memory) {
		switch {
		case m.Fact != nil && m.Link == nil:
			queries = append(queries, memory.ChangeQuery{Fact: m.Fact.ID})
		case m.Summary != nil:
			queries = append(queries, memory.ChangeQuery{Target: "summary:" + m.Summary.ID})
		case m.Turn != nil:
			queries = append(queries, memory.ChangeQuery{Target: "turn:" + m.Turn.ID})
		}
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []Event
	for _, q := range queries {
		changes, err := e.AllChanges(ctx, owner, q)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		for _, c := range changes {
			if id := cmp.Or(c.ID, c.Run); !seen[id] {
				seen[id] = true
				out = append(out, Event{ID: id, Type: EventMemory, At: c.At, Change: &c})
			}
		}
	}
	return out, nil
}
