package loci

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/model/llm"
)

const (
	// smallest is the entry of learn.prefer that stands for a kind of model.
	smallest = "smallest"

	// listTime is how long the start waits for a server's list of models.
	listTime = 2 * time.Second
)

// chooseLearner returns the model that learns: learn.model if the server lists it,
// else the first of learn.prefer that it lists, else "": the rules. Without
// learn.prefer nobody is asked. A server that does not answer now may do so later:
// then it is learn.model, or the first name of learn.prefer.
func chooseLearner(ctx context.Context, c Config) (string, error) {
	if len(c.Learn.Prefer) == 0 || c.Learn.URL == "" && c.Upstream.URL == "" {
		return c.Learn.Model, nil
	}
	wanted := c.Learn.Prefer
	if c.Learn.Model != "" {
		wanted = append([]string{c.Learn.Model}, wanted...)
	}
	o := learnerOptions(c)
	o.Patience = time.Millisecond // one attempt
	client, err := llm.New(o)
	if err != nil {
		return "", err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed, err := client.Models(ctx)
	if err != nil {
		if wanted[0] == smallest {
			return "", nil
		}
		return wanted[0], nil
	}
	for _, name := range wanted {
		if model := listedAs(name, listed); model != "" {
			return model, nil
		}
	}
	return "", nil
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
var parameters = regexp.MustCompile(`(?i)(?:^|[^0-9.a-z])(\d+(?:\.\d+)?)b(?:[^a-z0-9]|$)`)

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
