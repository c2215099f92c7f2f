// Package recall is the read path: from a question to the block in a prompt.
//
//	question ─NewQuery→ Query ─(searcher)→ candidates ─Rank→ kept, cut
//	─(store)→ hits ─Fit→ hits ─Render→ Block
//
// Rank fuses a candidate's numbers with the question's cues, calibrates the sum to a relevance of 0
// to 1, applies the threshold, blends with recency and diversifies. Every stage records its number
// in Why.
//
// All of it is pure: it reads no clock and no store, calls no model, and equal input gives equal
// output.
package recall
