package loci

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/late"
	"github.com/loci-memory/loci/internal/model/llm"
	"github.com/loci-memory/loci/memory"
)

const (
	// smallest is the entry of learn.prefer that stands for a kind of model.
	smallest = "smallest"

	// listTime is how long the start waits for a server's list of models.
	listTime = 2 * time.Second
)

// chooseLearner returns the model that learns: learn.model if the server lists it,
// else the first of learn.prefer that it lists, else "": the rules. Without
// learn.prefer nobody is asked. later says that the server did not answer: the model
// is then the first one wanted, "smallest" included, until [laterLearner] knows.
func chooseLearner(ctx context.Context, c Config) (model string, later bool, err error) {
	wanted := learnersWanted(c)
	if len(c.Learn.Prefer) == 0 || c.Learn.URL == "" && c.Upstream.URL == "" {
		return c.Learn.Model, false, nil
	}
	o := learnerOptions(c)
	o.Patience = time.Millisecond // one attempt
	client, err := llm.New(o)
	if err != nil {
		return "", false, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed, err := client.Models(ctx)
	if err != nil {
		return wanted[0], true, nil
	}
	return firstListed(wanted, listed), false, nil
}

// learnersWanted are the models that may learn, the best first.
func learnersWanted(c Config) []string {
	if c.Learn.Model == "" {
		return c.Learn.Prefer
	}
	return append([]string{c.Learn.Model}, c.Learn.Prefer...)
}

// firstListed returns the first model wanted that a server lists, as that calls it; ""
// for none.
func firstListed(wanted, listed []string) string {
	for _, name := range wanted {
		if model := listedAs(name, listed); model != "" {
			return model
		}
	}
	return ""
}

// laterLearner is the model that learns of a server that did not answer at the start:
// which one that is, it asks when there is something to learn.
type laterLearner struct {
	*llm.Client
	wanted []string

	mu     sync.Mutex
	chosen string
}

// Complete implements [memory.LLM].
func (l *laterLearner) Complete(ctx context.Context, p memory.Prompt) (memory.Reply, error) {
	model, err := l.model(ctx)
	if err != nil {
		return memory.Reply{}, err
	}
	p.Model = model
	reply, err := l.Client.Complete(ctx, p)
	reply.Model = cmp.Or(reply.Model, model)
	return reply, err
}

func (l *laterLearner) model(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.chosen != "" {
		return l.chosen, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed, err := l.Models(ctx)
	if err != nil {
		return "", memory.Errorf(memory.Unavailable, "which model learns is not known yet: %w", err)
	}
	if l.chosen = firstListed(l.wanted, listed); l.chosen == "" {
		return "", memory.Errorf(memory.Unavailable, "the server lists none of the models that may learn: %s", strings.Join(l.wanted, ", "))
	}
	return l.chosen, nil
}

// listedAs returns what a server calls a model, "" if it does not list it. A
// provider's name in front and ":latest" behind do not count.
func listedAs(name string, listed []string) string {
	if name == smallest {
		return smallestOf(listed)
	}
	for _, id := range listed {
		if id == name || plainModel(id) == plainModel(name) {
			return id
		}
	}
	return ""
}

func plainModel(id string) string {
	return strings.TrimSuffix(strings.ToLower(id[strings.LastIndexByte(id, '/')+1:]), ":latest")
}

// parameters are how many billions of them a model's name says that it has:
// "qwen2.5:0.5b", "Llama-3.2-1B-Instruct".
var parameters = late.Compile(`(?i)(?:^|[^0-9.a-z])(\d+(?:\.\d+)?)b(?:[^a-z0-9]|$)`)

// smallestOf returns the model with the fewest parameters in its name, the first of
// equals; "" if no name has any. Models that embed or rerank write nothing.
func smallestOf(listed []string) string {
	best, least := "", math.Inf(1)
	for _, id := range listed {
		m := parameters.FindStringSubmatch(id)
		if low := strings.ToLower(id); m == nil || strings.Contains(low, "embed") || strings.Contains(low, "rerank") {
			continue
		}
		if n, err := strconv.ParseFloat(m[1], 64); err == nil && n < least {
			best, least = id, n
		}
	}
	return best
}
