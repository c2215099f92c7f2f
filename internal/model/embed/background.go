package embed

import (
	"context"
	"fmt"
	"math"

	"github.com/loci-memory/loci/memory"
)

// Unrelated questions and statements. Their mean cosine is the lower end of a model's scale of similarity.
var (
	unrelatedQuestions = []string{
		"Where did she learn to play the cello?", "How much does the new boiler cost?", "What is the capital of Mongolia?",
		"Which medicine helps against hay fever?", "When does the last train leave?", "Who painted the ceiling of the chapel?",
	}
	unrelatedStatements = []string{
		"The bakery on the corner closes at six.", "My brother repairs old motorcycles.", "Penguins huddle together when it is cold.",
		"I have booked a table for Friday evening.", "The interest rate was raised by half a point.", "Her thesis is about medieval tax law.",
		"Please water the tomatoes while we are away.", "The compiler rejects unused variables.", "He scored twice in the second half.",
	}
)

// Measure computes the mean cosine of unrelated texts for [Cache.Background], unless it is already known or the
// embedder is word-based.
func (c *Cache) Measure(ctx context.Context) error {
	if c.background.Load() != 0 || c.OfWords() {
		return nil
	}
	questions, err := c.embedUncached(ctx, memory.AsQuestion, unrelatedQuestions...)
	if err != nil {
		return fmt.Errorf("measure the embedder: %w", err)
	}
	statements, err := c.embedUncached(ctx, memory.AsDocument, unrelatedStatements...)
	if err != nil {
		return fmt.Errorf("measure the embedder: %w", err)
	}
	var sum float64
	for _, q := range questions {
		for _, s := range statements {
			for i := range min(len(q), len(s)) {
				sum += float64(q[i]) * float64(s[i])
			}
		}
	}
	c.background.Store(math.Float64bits(max(math.SmallestNonzeroFloat64, sum/float64(len(questions)*len(statements)))))
	return nil
}

// Background returns the mean cosine of unrelated texts, 0 before it is measured.
func (c *Cache) Background() float64 { return math.Float64frombits(c.background.Load()) }
