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
	leastOfID = 4  // characters that stand for an id; fewer are taken for one as they are
	wholeID   = 36 // characters of an id that Loci makes
	mostAlike = 10 // ids that are named where several are meant
)

var errNoID = memory.Errorf(memory.Invalid, "the id is empty; the lists show ids")

// named is something with an id, and what a person knows it by.
type named struct{ id, words string }

// complete puts the whole id in the place of start where that begins the id of just one of all. One
// that begins none stays: whoever is asked for it says so.
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
		list.WriteString("\n  and others")
	}
	return memory.Errorf(memory.Invalid, "%s… may be any of these; write more of it:%s", *start, list.String())
}

// isIDPrefix reports whether a text may be the beginning of an id that Loci made.
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
		return "", fmt.Errorf("find what %s is: %w", start, err)
	}
	var all []named
	for _, m := range page.Memories {
		all = append(all, named{m.ID, m.Content})
	}
	whole := start
	err = complete(&whole, all)
	if err != nil && page.Next != "" { // it may be an id itself, further down
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

// completeRunID completes the id of a run, or of one of its changes (RUN/1), in place.
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
	var all []named
	for _, one := range page.Changes {
		all = append(all, named{one.Run, when(one.CreatedAt) + " " + by(one.Author)})
	}
	err = complete(&run, all)
	*start = run + rest
	return err
}

// completeContextIDs completes ids of contexts in place, and returns all contexts.
func completeContextIDs(ctx context.Context, c *client.Client, ids []string) (client.Contexts, error) {
	all, err := c.Contexts(ctx)
	var there []named
	for _, d := range all.Contexts {
		there = append(there, named{d.ID, d.Title})
	}
	for i := range ids {
		err = errors.Join(err, complete(&ids[i], there))
	}
	return all, err
}
