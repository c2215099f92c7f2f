package backup

import (
	"context"

	"github.com/loci-memory/loci/internal/store/sqlstore"
)

// Moving says how far a [Migrate] is.
type Moving = sqlstore.Copying

// Moved says what a [Migrate] brought.
type Moved = sqlstore.Copied

// Migrate copies the memory of all users from one database into another, which must be
// empty or hold what an earlier Migrate of the same source brought before it broke off.
// Addresses are sqlite:PATH and postgres://…. Nobody else may have either open for writing.
// It returns when both were read again and hold the same.
func Migrate(ctx context.Context, from, to string, report func(Moving)) (Moved, error) {
	return sqlstore.Copy(ctx, from, to, report)
}
