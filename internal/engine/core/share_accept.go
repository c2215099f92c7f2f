package core

// Acceptance says whose consent a fact needs that a user shares with another user.
type Acceptance string
