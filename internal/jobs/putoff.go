package jobs

import "time"

// PutOff is a handler's error that is not a failure: the job is not to be done before
// a time. It counts as no attempt.
type PutOff struct {
	Until time.Time
	Why   string // for people
}

// Error says why, and until when.
func (p *PutOff) Error() string {
	return "put off until " + p.Until.UTC().Format(time.RFC3339) + ": " + p.Why
}
