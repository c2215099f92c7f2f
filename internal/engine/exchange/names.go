package exchange

import (
	"context"
)

// nameOwner keeps what the client calls the owner of what it wrote.
func (x *Exchange) nameOwner(ctx context.Context) {
	if x.Hides() {
		return
	}
	if err := x.e.SetDisplayName(ctx, x.In.Owner, x.In.Called); err != nil {
		x.e.Log.Warn("the user's name was not kept", "user", x.In.Owner.Name(), "err", err)
	}
}
