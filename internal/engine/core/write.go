package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/chatapi"
	"github.com/loci-memory/loci/memory"
)

// MaxFastRetries is the number of retries without delay after a Conflict.
const MaxFastRetries = 10

// MaxWriteAttempts bounds all attempts. More than ten conflicts in a row occur while another server
// writes to the owner constantly.
const MaxWriteAttempts = 100

// maxRetryDelay bounds the random delay before each attempt after [MaxFastRetries], so that other
// writers can finish. All delays together take less than half a second.
const maxRetryDelay = 5 * time.Millisecond

// permanentConflict is a Conflict that a retry does not resolve.
type permanentConflict struct{ error }

// Unwrap returns the Conflict.
func (l permanentConflict) Unwrap() error { return l.error }

// Permanent wraps an error so that [RetryOnConflict] returns it at once. For nil it returns nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentConflict{err}
}

// RetryOnConflict calls do, which plans and applies a change, and repeats it after each Conflict.
func RetryOnConflict(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !errors.Is(err, memory.Conflict) || errors.As(err, new(permanentConflict)) || try == MaxWriteAttempts {
			return err
		}
		if try >= MaxFastRetries {
			select {
			case <-time.After(rand.N(maxRetryDelay)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// CheckText returns the trimmed text, or an Invalid or TooLarge error that names the field.
func (e *Core) CheckText(field, content string) (string, error) {
	trimmed := strings.TrimSpace(content)
	switch {
	case !utf8.ValidString(content):
		return "", memory.Errorf(memory.Invalid, "%s: is not valid UTF-8", field)
	case trimmed == "":
		return "", memory.Errorf(memory.Invalid, "%s: is empty", field)
	case len(trimmed) > e.Opts.MaxTextBytes:
		return "", memory.Errorf(memory.TooLarge, "%s: has %d bytes, more than the %d of limits.text", field, len(trimmed), e.Opts.MaxTextBytes)
	}
	return trimmed, nil
}

// ChangesByKey returns the changes of the first request with this idempotency key.
func (e *Core) ChangesByKey(ctx context.Context, owner memory.Owner, key string) ([]memory.Change, error) {
	if key == "" {
		return nil, nil
	}
	return e.AllChanges(ctx, owner, memory.ChangeQuery{Run: IDForKey(owner, key)})
}

// ErrOtherRequest reports that another request used the same idempotency key.
var ErrOtherRequest = Permanent(memory.Errorf(memory.Conflict, "this Idempotency-Key was used for another request"))

// JobRunID returns the id of the run that completes a job.
func JobRunID(jobID string) string { return "run-" + jobID }

// Version returns the owner's current version.
func (e *Core) Version(ctx context.Context, owner memory.Owner) (int64, error) {
	versions, err := e.Store.Versions(ctx, []memory.Owner{owner})
	if err != nil {
		return 0, fmt.Errorf("read the version: %w", err)
	}
	return versions[0], nil
}

// textActions are the actions that may change the text of a fact.
var textActions = map[memory.Action]bool{memory.ActionAdd: true, memory.ActionUpdate: true, memory.ActionUndo: true}

// FactVectors embeds the facts that changes add or reword.
func (e *Core) FactVectors(ctx context.Context, changes []memory.Change) ([]memory.Vector, error) {
	var out []memory.Vector
	for _, c := range changes {
		if c.After.Fact == nil || !c.After.Fact.Status.Live() || !textActions[c.Action] {
			continue
		}
		v, err := e.TextVectors(ctx, c.After.Fact.ID, c.After.Fact.Content)
		if err != nil {
			return nil, fmt.Errorf("embed facts: %w", err)
		}
		out = append(out, v...)
	}
	return out, nil
}

// Mode returns a request's mode in a channel: off without ChannelsRead or for off and write, else read.
func (c ChannelAccess) Mode(requestedMode string) string {
	if c != ChannelsRead || requestedMode == chatapi.ModeOff || requestedMode == chatapi.ModeWrite {
		return chatapi.ModeOff
	}
	return chatapi.ModeRead
}

// FilesRoot is the folder of a model's files. A file is stored as a context with its path as the title.
const FilesRoot = "/memories"

// IsFile reports whether a context is a model's file.
func IsFile(c memory.Context) bool { return strings.HasPrefix(c.Title, FilesRoot+"/") }

// ErrConcurrentEdit reports that Loci changed a text that the caller also changed.
var ErrConcurrentEdit = Permanent(memory.Errorf(memory.Conflict, "Loci changed the same text at the same time; read it again"))

// AllStatuses lists all statuses.
var AllStatuses = []memory.Status{memory.Active, memory.Pending, memory.Superseded, memory.Replaced, memory.Retired, memory.Rejected}

// WasErased reports whether a fact was erased, so that only its ids and times remain.
func WasErased(f memory.Fact) bool { return f.Status == memory.Retired && f.Content == "" }

// ErrErased returns the error for a memory with erased text.
func ErrErased(target string) error {
	return memory.Errorf(memory.Conflict, "%s was erased: its text cannot be restored", strings.Replace(target, ":", " ", 1))
}

// UpkeepOptions configure which memories are removed from recall automatically. Removed memories stay in the
// history and can be restored. Facts that a person wrote, approved or pinned are never removed.
type UpkeepOptions struct {
	UserLimit         int           // maximum number of a user's facts and turns; 0: unlimited
	ConversationLimit int           // maximum number of a conversation's turns and facts; 0: unlimited
	HalfLife          time.Duration // time in which a fact that is not stated again loses half its confidence; 0: never
}

// MaxUpkeepChanges bounds the changes of a transaction, so that other writers do not wait for long.
const MaxUpkeepChanges = 200

// UpkeepJobs returns the owner's daily upkeep job. If the number of memories is limited, it also returns an
// upkeep job for a run that added memories to a conversation.
func (e *Core) UpkeepJobs(owner memory.Owner, runID, conversation string) []memory.Job {
	out := []memory.Job{{ID: "upkeep-" + e.Time().Format(time.DateOnly), Owner: owner, Kind: memory.JobUpkeep}}
	if e.Opts.Learn.Upkeep.UserLimit+e.Opts.Learn.Upkeep.ConversationLimit > 0 {
		out = append(out, memory.Job{ID: "upkeep-" + runID, Owner: owner, Kind: memory.JobUpkeep, Conversation: conversation})
	}
	return out
}

// fadedConfidence is the confidence below which a fact that was not stated again is removed.
const fadedConfidence = 0.2

// RemovalReason returns why a fact is removed from recall, or "" if it is retained.
func (u UpkeepOptions) RemovalReason(f *memory.Fact, now time.Time) string {
	switch {
	case f == nil:
		return ""
	case !f.ExpiresAt.IsZero() && !now.Before(f.ExpiresAt):
		return "expired"
	case IsConfirmed(*f) || u.HalfLife <= 0:
		return ""
	case f.Confidence*math.Exp2(-now.Sub(f.ObservedAt).Hours()/u.HalfLife.Hours()) < fadedConfidence:
		return "not repeated for long"
	}
	return ""
}

// IsConfirmed reports whether a person wrote, approved or pinned a fact. Such a fact is retained at any age.
func IsConfirmed(f memory.Fact) bool {
	return f.Pinned() || f.Source == memory.Manual || f.Trust == memory.TrustPerson
}

// EachMemory calls yield for all matching memories, newest first.
func (e *Core) EachMemory(ctx context.Context, owner memory.Owner, q memory.Query, yield func(memory.Memory)) error {
	for m, err := range memory.AllMemories(ctx, e.Store.List, owner, q) {
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		yield(m)
	}
	return nil
}
