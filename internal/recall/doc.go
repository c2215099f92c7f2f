// Package recall is the read path: from a question to the block that goes into a
// prompt.
//
//	question ─NewQuery→ Query ─(searcher)→ candidates ─Rank→ kept, cut
//	─(store)→ hits ─Fit→ hits ─Render→ Block
//
// Rank fuses a candidate's raw numbers with what the question asks for (cues),
// calibrates the sum to a relevance of 0 to 1, drops what is under the threshold,
// blends with recency and diversifies. Every stage leaves its number in Why.
//
// All of it is pure: it reads no clock and no store, calls no model, and equal
// input gives equal output.
package recall
