package eval

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/text"
	"github.com/loci-memory/loci/memory"
)

// LearnOptions say who learns. The zero value means the built-in rules.
type LearnOptions struct {
	URL      string            // base URL of an OpenAI-compatible server; "": the rules learn
	Key      string            // for it
	Model    string            // there
	Settings map[string]string // of the program, besides
	Config   *config.Config    // whose models are used; nil: the defaults
}

// attempts is how often a job whose model failed is tried.
const attempts = 3

// Learned runs lessons through the program as it is used, in this process on a
// memory of its own: each message of the user, with the answers that follow it, is
// kept through /api and learned from before the next one comes. What is active at
// the end is compared with the gold.
func Learned(ctx context.Context, lessons []Lesson, o LearnOptions) (LearnReport, error) {
	report := LearnReport{By: "rules"}
	p, err := openPupil(ctx, o)
	if err != nil {
		return report, err
	}
	report.Models = p.models
	if o.URL != "" {
		report.By = o.Model
	}
	for i, l := range lessons {
		outcome, err := p.learn(ctx, fmt.Sprint("user-", i), l)
		if err != nil {
			return report, errors.Join(fmt.Errorf("%s: %w", l.Name, err), p.close())
		}
		report.Lessons = append(report.Lessons, outcome)
	}
	return report, p.close()
}

// What one call of the learning model takes beside the messages that it reads: the
// instruction, the calendar, what is known and what was said before; and its reply.
const (
	callTokens  = 1000
	replyTokens = 80
)

// LearnEstimate returns about how many calls and tokens it takes a model to learn from lessons:
// one call for each message of a user.
func LearnEstimate(lessons []Lesson) (calls, input, output int) {
	for _, l := range lessons {
		for _, t := range l.Turns {
			if t.Role == memory.RoleUser && strings.TrimSpace(t.Content) != "" {
				calls++
				input += callTokens + text.Tokens(t.Content)
			}
		}
	}
	return calls, input, calls * replyTokens
}

// pupil is a program that learns, in this process.
type pupil struct {
	models  Models
	loci    *loci.Loci
	server  *httptest.Server
	meter   *meter // nil: the rules learn
	http    *http.Client
	ahead   *atomic.Int64 // how far its clock is ahead, so that nobody waits to try again
	stop    context.CancelFunc
	stopped chan error
}

func openPupil(ctx context.Context, o LearnOptions) (p *pupil, err error) {
	p = &pupil{ahead: &atomic.Int64{}, stopped: make(chan error, 1)}
	flags := map[string]string{"store": "memory", "log.level": "error"}
	if o.URL != "" {
		if p.meter, err = newMeter(o.URL); err != nil {
			return nil, err
		}
		flags["learn.url"], flags["learn.model"], flags["learn.key"] = p.meter.base(), o.Model, o.Key
		flags["learn.rules"] = "off" // or they would stand in for a model that fails
		flags["learn.day_tokens"] = "0"
	}
	for key, value := range o.Settings {
		flags[key] = value
	}
	config, err := config.Load(config.Sources{Flags: flags})
	if o.Config != nil {
		config, err = o.Config.ForBench(flags)
	}
	if err == nil {
		ahead := p.ahead
		p.loci, err = loci.Open(ctx, config, loci.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	}
	if err != nil {
		p.meter.close()
		return nil, err
	}
	p.models = ModelsOf(p.loci.Config())
	p.server = httptest.NewServer(p.loci.Handler())
	p.http = p.server.Client()
	running, stop := context.WithCancel(ctx)
	p.stop = stop
	go func() { p.stopped <- p.loci.Run(running) }()
	return p, nil
}

func (p *pupil) close() error {
	p.server.Close()
	p.stop()
	err := errors.Join(<-p.stopped, p.loci.Close())
	p.meter.close()
	return err
}

func (p *pupil) as(user string) *client.Client {
	return client.New(p.server.URL, client.Options{User: user, HTTP: p.http})
}

// learn has a user tell a lesson, and looks at what was learned.
func (p *pupil) learn(ctx context.Context, user string, l Lesson) (LessonOutcome, error) {
	c := p.as(user)
	out := LessonOutcome{Name: l.Name, Category: l.Category}
	l.Turns = inOrder(l.Turns)
	before := p.meter.read()
	turns := map[string]int{} // places of turns by id
	for start := 0; start < len(l.Turns); {
		end := start + 1
		for end < len(l.Turns) && l.Turns[end].Session == l.Turns[start].Session && l.Turns[end].Role != memory.RoleUser {
			end++
		}
		if err := p.tell(ctx, c, l.Turns, start, end, turns, &out); err != nil {
			return out, err
		}
		start = end
	}
	out.Model = p.meter.read().less(before)
	known, err := p.known(ctx, c)
	if err != nil {
		return out, err
	}
	out.judge(l, known, turns)
	return out, p.ask(ctx, c, l, turns, known, &out)
}

// inOrder returns turns of which each was said later than the one before it, by a
// second at least: some data sets know the day alone, and of two statements of the
// same moment neither is newer.
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

// tell keeps the turns from start to end and waits until they are learned from.
func (p *pupil) tell(ctx context.Context, c *client.Client, all []Turn, start, end int, turns map[string]int, out *LessonOutcome) error {
	in := client.AddMessages{Conversation: "session " + all[start].Session}
	var places []int
	for i := start; i < end; i++ {
		t := all[i]
		if t.Role == memory.RoleUser {
			out.Turns++
		}
		if strings.TrimSpace(t.Content) == "" {
			continue // some data sets have turns in which nothing is said
		}
		m := client.Message{Role: t.Role, Content: t.Content, Name: t.Name}
		if !t.At.IsZero() {
			m.CreatedAt = &t.At
		}
		in.Messages, places = append(in.Messages, m), append(places, i)
	}
	if len(in.Messages) == 0 {
		return nil
	}
	began := time.Now()
	added, err := c.AddMessages(ctx, in)
	if err != nil {
		return fmt.Errorf("add messages: %w", err)
	}
	err = p.settle(ctx, c, added.Job, out)
	out.Took += time.Since(began)
	for i, id := range added.Turns {
		turns[id] = places[i]
	}
	return err
}

// settle waits until a job is done or was tried often enough.
func (p *pupil) settle(ctx context.Context, c *client.Client, job string, out *LessonOutcome) error {
	for try := 1; ; try++ {
		if err := p.loci.Settle(ctx); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		jobs, err := c.Jobs(ctx)
		if err != nil {
			return fmt.Errorf("look for jobs: %w", err)
		}
		var due time.Time
		for _, j := range jobs.Jobs {
			if j.ID == job && j.Attempts > 0 && j.State != memory.JobParked {
				due = j.RunAt
			}
			if j.ID == job && (j.State == memory.JobParked || try == attempts) {
				out.Failed++
				out.Failures = append(out.Failures, j.Error)
				return nil
			}
		}
		if due.IsZero() {
			return nil
		}
		p.ahead.Add(int64(max(0, time.Until(due)-time.Duration(p.ahead.Load()))))
	}
}

// known returns a user's facts that are active, pending or superseded.
func (p *pupil) known(ctx context.Context, c *client.Client) ([]client.Memory, error) {
	out, err := memory.Collect(c.AllMemories(ctx, client.ListQuery{Kind: "fact", Status: "active,pending,superseded"}))
	if err != nil {
		return nil, fmt.Errorf("list what was learned: %w", err)
	}
	return out, nil
}

// ask puts the questions of the gold and looks at what is recalled.
func (p *pupil) ask(ctx context.Context, c *client.Client, l Lesson, turns map[string]int, known []client.Memory, out *LessonOutcome) error {
	for i, g := range l.Gold {
		if g.Question == "" || g.Replaces < 0 {
			continue
		}
		found, err := c.Search(ctx, client.SearchRequest{Query: g.Question})
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		out.recalled(l, i, found.Hits, turns)
	}
	return nil
}
