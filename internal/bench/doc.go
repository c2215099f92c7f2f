// Package bench measures Loci: how well it finds what was said ([Measured]), and
// how fast it is ([Load]). Retrieval reads public data sets in their own formats,
// or one's own lines ([Open]), puts their conversations into a [Target] and scores
// where the gold stands in what the target finds ([Report]). The data is not part
// of Loci.
package bench
