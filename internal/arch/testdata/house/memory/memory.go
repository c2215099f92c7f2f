// Package memory breaks two rules: it uses a library and reads the clock.
package memory

import (
	clock "time"

	"github.com/google/uuid"
)

var (
	_ = uuid.Nil
	_ = clock.Now
)
