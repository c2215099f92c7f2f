package jobs

import "time"

// PutOff is a handler's error that postpones the job. The attempt does not count as failed.
type PutOff struct {
	Until  time.Time // time of the next attempt
	Reason string    // shown to people with the job
}

// Error returns a text with the reason and the time of the next attempt.
func (p *PutOff) Error() string {
	return "put off until " + p.Until.UTC().Format(time.RFC3339) + ": " + p.Reason
}
