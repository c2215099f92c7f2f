package memory

import (
	"context"
	"time"
)

// Ledger records the usage of models by owner. The recorded usage limits learning, never a chat.
type Ledger interface {
	// AddUsage adds u to the owner's usage of the same day, model and purpose. [Invalid] means that the day is
	// zero or a number is negative.
	AddUsage(ctx context.Context, owner Owner, u Usage) error
	// UsageSince returns the usage from the day of since on, ordered by day, purpose and model.
	UsageSince(ctx context.Context, owner Owner, since time.Time) ([]Usage, error)
}

// Usage is one model's usage for one purpose on one day.
type Usage struct {
	Day          time.Time `json:"day"`     // any time on the day in UTC; stores return the beginning of the day
	Purpose      string    `json:"purpose"` // name of the prompt
	Model        string    `json:"model"`
	Calls        int64     `json:"calls"`
	InputTokens  int64     `json:"input_tokens" bson:"input_tokens"`
	OutputTokens int64     `json:"output_tokens" bson:"output_tokens"`
	Cost         float64   `json:"cost"` // by the prices of that day; 0 if the model has no price
}

// StartOfDay returns the beginning of t's day in UTC, or the zero time for the zero time.
func StartOfDay(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(24 * time.Hour)
}

// Check returns [Invalid] for a usage that every ledger must refuse.
func (u Usage) Check() error {
	if u.Day.IsZero() || u.Calls < 0 || u.InputTokens < 0 || u.OutputTokens < 0 || !(u.Cost >= 0) {
		return Errorf(Invalid, "a usage needs a day and no negative number; got %+v", u)
	}
	return nil
}

// Add adds the numbers of v, a usage of the same day, purpose and model.
func (u *Usage) Add(v Usage) {
	u.Calls += v.Calls
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.Cost += v.Cost
}
