// Package recall is the read path, from a question to the memory block in a prompt.
//
//	question ─NewQuery→ Query ─(searcher)→ candidates ─Rank→ kept, cut
//	─(store)→ hits ─Fit→ hits ─Render→ Block
//
// Rank adds the values of a candidate's cues, calibrates the sum to a relevance from 0 to 1, applies the
// threshold, blends relevance with recency, and diversifies. Each stage records its number in Why.
//
// All functions are pure: they use no clock, store or model, and equal input gives equal output.
package recall
