package recall

import "math"

// Cosines of unrelated texts differ by model: around 0.1 for some, around 0.7 for others. The
// constants here are fitted to the former, so the scale of other models is stretched: unrelated
// texts move to usualBackground, and 1 stays 1.

// usualBackground is the mean cosine of a question with the memories that share its words, by the
// embedder of the fit.
const usualBackground = 0.1

// maxBackground bounds the stretch: a model that finds everything similar knows nothing.
const maxBackground = 0.95

// stretchOf returns the factor by which a cosine's distance from 1 grows, at least 1.
func stretchOf(background float64) float64 {
	return max(1, (1-usualBackground)/(1-min(clampUnit(background), maxBackground)))
}

// stretched returns a cosine on the fitted scale. 0 means no vector and stays.
func stretched(cosine, stretch float64) float64 {
	if cosine == 0 || stretch <= 1 {
		return cosine
	}
	return math.Max(-1, 1-(1-cosine)*stretch)
}

// EmbedderCosine returns the cosine on an embedder's own scale that corresponds to cosine on the fitted
// scale. background is that embedder's cosine of unrelated texts.
func EmbedderCosine(cosine, background float64) float64 {
	return 1 - (1-cosine)/stretchOf(background)
}
