// Package learn breaks one rule: it looks sideways. Looking down is fine.
package learn

import (
	_ "github.com/loci-memory/loci/internal/recall"
	_ "github.com/loci-memory/loci/memory"
)
