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

// LearnOptions select the model that learns.
type LearnOptions struct {
	Config config.Config // settings with the other models
	URL    string        // base URL of an OpenAI-compatible server; "": the rules learn
	Key    string        // for the server
	Model  string        // name at the server
}

// attempts bounds the attempts of a job whose model fails.
const attempts = 3

// Learned runs lessons in a new Loci in this process. It sends each user message with its answers to /api, waits for
// learning, and at the end compares the active facts with the gold.
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

// pupil is a Loci in this process that learns.
type pupil struct {
	*Instance
	ahead atomic.Int64 // offset of its clock, to skip waiting for retries
}

func openPupil(ctx context.Context, o LearnOptions) (p *pupil, err error) {
	p = &pupil{}
	settings := map[string]string{}
	if o.URL != "" {
		settings = map[string]string{
			"learn.url": o.URL, "learn.model": o.Model, "learn.key": o.Key, "learn.day_tokens": "0",
			"learn.rules": "off", // else they would replace a failing model
		}
	}
	now := func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }
	p.Instance, err = OpenInstance(ctx, o.Config, settings, now)
	return p, err
}

// learn sends a lesson as a user, and evaluates the learned facts.
func (p *pupil) learn(ctx context.Context, user string, l Lesson) (out LessonOutcome, err error) {
	out = LessonOutcome{Lesson: l}
	if _, err := p.tell(ctx, user, inOrder(l.Turns), &out, nil); err != nil {
		return out, err
	}
	facts, err := p.facts(ctx, user)
	if err != nil {
		return out, err
	}
	out.judge(facts)
	spent, err := p.As(user).Usage(ctx, time.Time{})
	for _, u := range spent.Usage {
		out.Model.Add(u)
	}
	return out, err
}

// inOrder makes each turn at least a second later than the one before. Some data sets have only dates, and of two
// statements at the same time neither is newer.
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

// tell sends a user's messages, each with the following turns of its session, and waits for learning after each. It
// returns the indexes of turns by id. before may be nil; it is called before each message with its last turn.
func (p *pupil) tell(
	ctx context.Context, user string, turns []Turn, out *LessonOutcome, before func(last Turn),
) (map[string]int, error) {
	places, c := map[string]int{}, p.As(user)
	var in client.AddMessages
	var kept []int
	for i, t := range turns {
		in.Conversation = "session " + t.Session
		if t.Role == memory.RoleUser {
			out.count("user turns", "")
		}
		if strings.TrimSpace(t.Content) != "" { // some data sets have empty turns
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

// settle waits until a job is done or has failed too often.
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
				out.count("failed", j.Error)
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

// facts returns a user's facts that are active, pending or superseded.
func (p *pupil) facts(ctx context.Context, user string) ([]client.Memory, error) {
	query := client.ListQuery{Kind: "fact", Status: "active,pending,superseded"}
	return memory.Collect(p.As(user).AllMemories(ctx, query))
}
