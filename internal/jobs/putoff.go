package jobs

import "time"

// PutOff is a handler's error that postpones the job. It does not count as an attempt.
type PutOff struct {
	Until  time.Time
	Reason string // for people
}

// Error returns a text with the reason and the time of the next attempt.
func (p *PutOff) Error() string {
	return "put off until " + p.Until.UTC().Format(time.RFC3339) + ": " + p.Reason
}
