// Package bench measures Loci: how well it finds what was said ([Retrieval]). It
// reads public data sets in their own formats, puts their conversations into a
// [Target] and scores what the target finds. The data is not part of Loci.
package bench
