// Package recall breaks nothing.
package recall

import "time"

// At is an argument.
func At(now time.Time) time.Time { return now.Add(time.Hour) }
