package engine

// Summarizing is how often conversations are summed up.
type Summarizing struct {
	Every int // exchanges; 0: never
}
