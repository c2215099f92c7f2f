package engine

// Summarizing is whether and how often conversations are summarized.
type Summarizing struct {
	Every int  // exchanges; 0: never
	Rules bool // by rule where there is no model, or when it fails
}
