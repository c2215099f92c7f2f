// Package text breaks three rules: it looks up, writes a log and uses a driver.
package text

import (
	_ "log/slog"

	_ "modernc.org/sqlite"

	_ "github.com/loci-memory/loci/internal/learn"
)
