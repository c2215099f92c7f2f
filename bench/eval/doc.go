// Package eval measures how well Loci finds what was said ([Measured]), brings it into chats
// ([Chat]), learns from talk ([Learned]) and lets a model answer ([Retrieve], [Ask]). Retrieval
// reads public data sets in their own formats, or one's own lines ([Open]), puts their
// conversations into a [Target] and scores where the gold stands in what the target finds
// ([Report]). The data is not part of Loci.
package eval
