package memory

// Excerpt is what a database found of an owner's memory, with what has to be known of all of
// it for it to be measured as if all of it were at hand.
type Excerpt struct {
	Items  []Item
	Beside map[string]bool // ids of items that do not answer: turns whose words count for the turns around them
	Whole  Whole
	Bare   int // memories of the owner without a vector
}

// Whole says what an owner has. Lengths are in thirds of a term: each term of a memory's
// words and of its speaker's name counts three, each of the day it was said one.
type Whole struct {
	Kinds map[Kind]Amount
	Ends  [3]int64       // lengths of all turns that have none before them, that have one, that have two; those with as many behind them added
	Terms map[string]int // in how many memories a term is, or in a turn around them; of those asked for

	// Misspelt terms asked for, with those that they are taken for: that something has, or of
	// the tables of synonyms and classes, where something has what is related.
	Meant, Tabled map[string][]string
}

// Amount is how much there is of a kind of memory.
type Amount struct {
	Memories int
	Length   int64 // of all together
}

// Memories returns how many there are.
func (w *Whole) Memories() int {
	n := 0
	for _, a := range w.Kinds {
		n += a.Memories
	}
	return n
}
