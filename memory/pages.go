package memory

import (
	"cmp"
	"context"
	"iter"
)

// pageSize is the number of entries read in one call if the query has no limit.
const pageSize = 500

// Pages yields all entries of a paged list, starting with the empty cursor. After an error it yields the zero
// value with the error, and stops.
func Pages[T any](readPage func(cursor string) (page []T, nextCursor string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, nextCursor, err := readPage(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			if cursor = nextCursor; cursor == "" {
				return
			}
		}
	}
}

// Collect returns all values of a sequence, or its first error.
func Collect[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for value, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

// AllMemories yields all memories that q selects. list is [Facts].List or a similar method.
func AllMemories(ctx context.Context, list func(context.Context, Owner, Query) (Page, error), owner Owner, q Query) iter.Seq2[Memory, error] {
	q.Limit = cmp.Or(q.Limit, pageSize)
	return Pages(func(cursor string) ([]Memory, string, error) {
		q.Cursor = cursor
		page, err := list(ctx, owner, q)
		return page.Memories, page.Next, err
	})
}

// AllChanges yields all journal entries that q selects. list is [Facts].Changes or a similar method.
func AllChanges(ctx context.Context, list func(context.Context, Owner, ChangeQuery) (ChangePage, error), owner Owner, q ChangeQuery) iter.Seq2[Change, error] {
	q.Limit = cmp.Or(q.Limit, pageSize)
	return Pages(func(cursor string) ([]Change, string, error) {
		q.Cursor = cursor
		page, err := list(ctx, owner, q)
		return page.Changes, page.Next, err
	})
}

// AllConversations yields all conversations that q selects. list is [TurnLog].Conversations or a similar method.
func AllConversations(ctx context.Context, list func(context.Context, Owner, ConversationQuery) (ConversationPage, error), owner Owner, q ConversationQuery) iter.Seq2[Conversation, error] {
	q.Limit = cmp.Or(q.Limit, pageSize)
	return Pages(func(cursor string) ([]Conversation, string, error) {
		q.Cursor = cursor
		page, err := list(ctx, owner, q)
		return page.Conversations, page.Next, err
	})
}
