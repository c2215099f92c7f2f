package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

const (
	leastOfID = 4  // minimum length of an abbreviated id, in characters; shorter texts are not completed
	wholeID   = 36 // length of an id that Loci makes, in characters
	mostAlike = 10 // maximum number of ids in the error for an ambiguous abbreviation
)

var errNoID = memory.Errorf(memory.Invalid, "the id is empty; loci list and the other list commands show ids")

// labeledID is an id with a text that people recognize.
type named struct{ id, words string }

func namesOf[T any](all []T, of func(T) named) (out []named) {
	for _, one := range all {
		out = append(out, of(one))
	}
	return out
}

// completeID replaces prefix by the full id if exactly one id begins with prefix. If no id begins with
// prefix, prefix stays unchanged, and the server reports the error.
func complete(start *string, all []named) error {
	if *start == "" {
		return errNoID
	}
	var alike []named
	for _, one := range all {
		switch {
		case one.id == *start:
			return nil
		case len(*start) >= leastOfID && strings.HasPrefix(one.id, *start):
			alike = append(alike, one)
		}
	}
	switch len(alike) {
	case 0:
		return nil
	case 1:
		*start = alike[0].id
		return nil
	}
	var list strings.Builder
	for _, one := range alike[:min(len(alike), mostAlike)] {
		list.WriteString(strings.TrimRight("\n  "+harmless(one.id)+"  "+brief(one.words, 80), " "))
	}
	if len(alike) > mostAlike {
		list.WriteString("\n  and more")
	}
	return memory.Errorf(memory.Invalid, "%s… is ambiguous; write more characters of one of these ids:%s", *start, list.String())
}

// isIDPrefix reports whether a text can be the beginning of an id that Loci made.
func isIDPrefix(text string) bool {
	return len(text) >= leastOfID && len(text) < wholeID && strings.Trim(text, "0123456789abcdef-") == ""
}

// completeMemoryID completes the id of a memory.
func completeMemoryID(ctx context.Context, c *client.Client, start string) (string, error) {
	if start == "" {
		return "", errNoID
	}
	if !isIDPrefix(start) {
		return start, nil
	}
	page, err := c.List(ctx, client.ListQuery{ID: start, Kind: "all", Status: "all", Limit: mostAlike + 1})
	if err != nil {
		return "", fmt.Errorf("find the memory %s: %w", start, err)
	}
	all := namesOf(page.Memories, func(m client.Memory) named { return named{m.ID, m.Content} })
	whole := start
	err = complete(&whole, all)
	if err != nil && page.Next != "" { // prefix itself may be the id of a memory on a later page
		m, found := found(c.Get(ctx, start))
		if m != nil || found != nil {
			return start, found
		}
	}
	return whole, err
}

// completeMemoryIDs completes ids of memories in place.
func completeMemoryIDs(ctx context.Context, c *client.Client, ids []string) (err error) {
	for i, start := range ids {
		if ids[i], err = completeMemoryID(ctx, c, start); err != nil {
			return err
		}
	}
	return nil
}

// completeChatID completes the id of a conversation in place.
func completeChatID(ctx context.Context, c *client.Client, start *string) error {
	if !isIDPrefix(*start) {
		return nil
	}
	var all []named
	for one, err := range memory.Pages(func(cursor string) ([]client.Chat, string, error) {
		page, err := c.Chats(ctx, client.ChatsQuery{Limit: 500, Cursor: cursor})
		return page.Chats, page.Next, err
	}) {
		if err != nil {
			return fmt.Errorf("find the conversation %s: %w", *start, err)
		}
		all = append(all, named{one.ID, one.Title})
	}
	return complete(start, all)
}

// completeRunID completes the id of a run or of a change (RUN/1) in place.
func completeRunID(ctx context.Context, c *client.Client, start *string) error {
	run, rest := *start, ""
	if at := strings.LastIndexByte(run, '/'); at >= 0 {
		run, rest = run[:at], run[at:]
	}
	if len(run) < leastOfID {
		return nil
	}
	is, err := c.Changes(ctx, client.ChangesQuery{Run: run, Limit: 1})
	if err != nil || len(is.Changes) > 0 {
		return err
	}
	page, err := c.Changes(ctx, client.ChangesQuery{Runs: run, Limit: mostAlike + 1})
	if err != nil {
		return fmt.Errorf("find the run %s: %w", run, err)
	}
	err = complete(&run, namesOf(page.Changes, func(one client.Change) named { return named{one.Run, when(one.CreatedAt) + " " + by(one.Author)} }))
	*start = run + rest
	return err
}

// completeContextIDs completes ids of contexts in place, and returns all contexts.
func completeContextIDs(ctx context.Context, c *client.Client, ids []string) (client.Contexts, error) {
	all, err := c.Contexts(ctx)
	there := namesOf(all.Contexts, func(d client.ContextDocument) named { return named{d.ID, d.Title} })
	for i := range ids {
		err = errors.Join(err, complete(&ids[i], there))
	}
	return all, err
}
