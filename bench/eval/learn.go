package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/memory"
)

// LearnOptions say who learns.
type LearnOptions struct {
	Config config.Config // whose models are used
	URL    string        // base URL of an OpenAI-compatible server; "": the rules learn
	Key    string        // for it
	Model  string        // there
}

// attempts is how often a job whose model failed is tried.
const attempts = 3

// Learned runs lessons through the program as it is used, in this process on a memory of its own:
// each message of the user, with the answers that follow it, is kept through /api and learned from
// before the next one comes. What is active at the end is compared with the gold.
func Learned(ctx context.Context, lessons []Lesson, o LearnOptions) (report LearnReport, err error) {
	p, err := openPupil(ctx, o)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	report.By, report.Models = cmp.Or(o.Model, "rules"), p.Models()
	for i, l := range lessons {
		outcome, err := p.learn(ctx, fmt.Sprint("user-", i), l)
		if err != nil {
			return report, fmt.Errorf("%s: %w", l.Name, err)
		}
		report.Lessons = append(report.Lessons, outcome)
	}
	return report, nil
}

// pupil is a program that learns, in this process.
type pupil struct {
	*Instance
	ahead atomic.Int64 // how far its clock is ahead, so that nobody waits to try again
}

func openPupil(ctx context.Context, o LearnOptions) (p *pupil, err error) {
	p = &pupil{}
	settings := map[string]string{}
	if o.URL != "" {
		settings = map[string]string{
			"learn.url": o.URL, "learn.model": o.Model, "learn.key": o.Key, "learn.day_tokens": "0",
			"learn.rules": "off", // or they would stand in for a model that fails
		}
	}
	now := func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }
	p.Instance, err = OpenInstance(ctx, o.Config, settings, now)
	return p, err
}

// learn has a user tell a lesson, and looks at what was learned.
func (p *pupil) learn(ctx context.Context, user string, l Lesson) (out LessonOutcome, err error) {
	out = LessonOutcome{Lesson: l}
	if _, err := p.tell(ctx, user, inOrder(l.Turns), &out, nil); err != nil {
		return out, err
	}
	known, err := p.known(ctx, user)
	if err != nil {
		return out, err
	}
	out.judge(known)
	spent, err := p.As(user).Usage(ctx, time.Time{})
	for _, u := range spent.Usage {
		out.Model.Add(u)
	}
	return out, err
}

// inOrder returns turns of which each was said later than the one before it, by a second at least:
// some data sets know the day alone, and of two statements of the same moment neither is newer.
func inOrder(turns []Turn) []Turn {
	turns = slices.Clone(turns)
	var last time.Time
	for i := range turns {
		if t := &turns[i].At; !t.IsZero() {
			if !t.After(last) {
				*t = last.Add(time.Second)
			}
			last = *t
		}
	}
	return turns
}

// tell has a user say turns: each message of theirs, with what follows it in its session, is learned
// from before the next one comes. It returns the places of turns by their ids. before, if there is
// one, is called ahead of each message with the last turn that goes with it.
func (p *pupil) tell(
	ctx context.Context, user string, turns []Turn, out *LessonOutcome, before func(last Turn),
) (map[string]int, error) {
	places, c := map[string]int{}, p.As(user)
	var in client.AddMessages
	var kept []int
	for i, t := range turns {
		in.Conversation = "session " + t.Session
		if t.Role == memory.RoleUser {
			out.count("told", "")
		}
		if strings.TrimSpace(t.Content) != "" { // some data sets have turns in which nothing is said
			t.Ref = ""
			in.Messages, kept = append(in.Messages, t.message()), append(kept, i)
		}
		if len(kept) == 0 || i+1 < len(turns) && turns[i+1].Session == t.Session && turns[i+1].Role != memory.RoleUser {
			continue
		}
		if before != nil {
			before(t)
		}
		began := time.Now()
		added, err := c.AddMessages(ctx, in)
		if err == nil {
			err = p.settle(ctx, c, added.Job, out)
		}
		if err != nil {
			return nil, fmt.Errorf("learn from turn %d: %w", i, err)
		}
		out.Took += time.Since(began)
		for j, id := range added.Turns {
			places[id] = kept[j]
		}
		in.Messages, kept = nil, nil
	}
	return places, nil
}

// settle waits until a job is done or was tried often enough.
func (p *pupil) settle(ctx context.Context, c *client.Client, job string, out *LessonOutcome) error {
	for try := 1; ; try++ {
		if err := p.Loci.Settle(ctx); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		jobs, err := c.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("look for jobs: %w", err)
		}
		var due time.Time
		for _, j := range jobs.Jobs {
			if j.ID != job {
				continue
			}
			if j.State == memory.JobParked || try == attempts {
				out.count("given up", j.Error)
				return nil
			}
			if j.Attempts > 0 {
				due = j.RunAt
			}
		}
		if due.IsZero() {
			return nil
		}
		p.ahead.Add(int64(max(0, time.Until(due)-time.Duration(p.ahead.Load()))))
	}
}

// known returns a user's facts that are active, pending or superseded.
func (p *pupil) known(ctx context.Context, user string) ([]client.Memory, error) {
	query := client.ListQuery{Kind: "fact", Status: "active,pending,superseded"}
	return memory.Collect(p.As(user).AllMemories(ctx, query))
}
