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
	minPrefixLength = 4  // minimum length of an abbreviated id, in characters; shorter texts are not completed
	idLength        = 36 // length of an id that Loci makes, in characters
	maxListedIDs    = 10 // maximum number of ids in the error for an ambiguous abbreviation
)

var errEmptyID = memory.Errorf(memory.Invalid, "the id is empty; loci list and the other list commands show ids")

// labeledID is an id with a text by which people recognize it, such as a title.
type labeledID struct{ id, label string }

func labelIDs[T any](items []T, label func(T) labeledID) (labeled []labeledID) {
	for _, item := range items {
		labeled = append(labeled, label(item))
	}
	return labeled
}

// completeID replaces prefix by the full id if exactly one candidate begins with prefix. If no candidate
// begins with prefix, prefix stays unchanged, and a request with it makes the server report the error.
func completeID(prefix *string, candidates []labeledID) error {
	if *prefix == "" {
		return errEmptyID
	}
	var matches []labeledID
	for _, candidate := range candidates {
		switch {
		case candidate.id == *prefix:
			return nil
		case len(*prefix) >= minPrefixLength && strings.HasPrefix(candidate.id, *prefix):
			matches = append(matches, candidate)
		}
	}
	switch len(matches) {
	case 0:
		return nil
	case 1:
		*prefix = matches[0].id
		return nil
	}
	var list strings.Builder
	for _, candidate := range matches[:min(len(matches), maxListedIDs)] {
		list.WriteString(strings.TrimRight("\n  "+sanitize(candidate.id)+"  "+shorten(candidate.label, 80), " "))
	}
	if len(matches) > maxListedIDs {
		list.WriteString("\n  and more")
	}
	return memory.Errorf(memory.Invalid, "%s… is ambiguous; write more characters of one of these ids:%s", *prefix, list.String())
}

// isIDPrefix reports whether a text can be the beginning of an id that Loci made.
func isIDPrefix(text string) bool {
	return len(text) >= minPrefixLength && len(text) < idLength && strings.Trim(text, "0123456789abcdef-") == ""
}

// completeMemoryID returns the full id of the memory whose id begins with prefix, as completeID does.
func completeMemoryID(ctx context.Context, c *client.Client, prefix string) (string, error) {
	if prefix == "" {
		return "", errEmptyID
	}
	if !isIDPrefix(prefix) {
		return prefix, nil
	}
	page, err := c.List(ctx, client.ListQuery{IDPrefix: prefix, Kind: "all", Status: "all", Limit: maxListedIDs + 1})
	if err != nil {
		return "", fmt.Errorf("find the memory %s: %w", prefix, err)
	}
	candidates := labelIDs(page.Memories, func(m client.Memory) labeledID { return labeledID{m.ID, m.Content} })
	fullID := prefix
	err = completeID(&fullID, candidates)
	if err != nil && page.Next != "" { // prefix itself may be the id of a memory on a later page
		m, getErr := nilIfNotFound(c.Get(ctx, prefix))
		if m != nil || getErr != nil {
			return prefix, getErr
		}
	}
	return fullID, err
}

// completeMemoryIDs completes ids of memories in place.
func completeMemoryIDs(ctx context.Context, c *client.Client, ids []string) (err error) {
	for i, prefix := range ids {
		if ids[i], err = completeMemoryID(ctx, c, prefix); err != nil {
			return err
		}
	}
	return nil
}

// completeChatID completes the id of a conversation in place.
func completeChatID(ctx context.Context, c *client.Client, prefix *string) error {
	if !isIDPrefix(*prefix) {
		return nil
	}
	var candidates []labeledID
	for chat, err := range memory.Pages(func(cursor string) ([]client.Chat, string, error) {
		page, err := c.Chats(ctx, client.ChatsQuery{Limit: 500, Cursor: cursor})
		return page.Chats, page.Next, err
	}) {
		if err != nil {
			return fmt.Errorf("find the conversation %s: %w", *prefix, err)
		}
		candidates = append(candidates, labeledID{chat.ID, chat.Title})
	}
	return completeID(prefix, candidates)
}

// completeRunID completes the id of a run or of a change (RUN/1) in place.
func completeRunID(ctx context.Context, c *client.Client, prefix *string) error {
	run, rest := *prefix, ""
	if at := strings.LastIndexByte(run, '/'); at >= 0 {
		run, rest = run[:at], run[at:]
	}
	if len(run) < minPrefixLength {
		return nil
	}
	exact, err := c.Changes(ctx, client.ChangesQuery{Run: run, Limit: 1})
	if err != nil || len(exact.Changes) > 0 {
		return err
	}
	page, err := c.Changes(ctx, client.ChangesQuery{RunPrefix: run, Limit: maxListedIDs + 1})
	if err != nil {
		return fmt.Errorf("find the run %s: %w", run, err)
	}
	err = completeID(&run, labelIDs(page.Changes, func(change client.Change) labeledID {
		return labeledID{change.Run, formatTime(change.CreatedAt) + " " + authorText(change.Author)}
	}))
	*prefix = run + rest
	return err
}

// completeContextIDs completes ids of contexts in place, and returns all contexts.
func completeContextIDs(ctx context.Context, c *client.Client, ids []string) (client.Contexts, error) {
	all, err := c.Contexts(ctx)
	candidates := labelIDs(all.Contexts, func(d client.ContextDocument) labeledID { return labeledID{d.ID, d.Title} })
	for i := range ids {
		err = errors.Join(err, completeID(&ids[i], candidates))
	}
	return all, err
}
