package recall

import "math"

// Cosines of unrelated texts differ by model: around 0.1 for some models, around 0.7 for others. The
// constants of this package were fitted with a mean of 0.1. The cosines of other models are stretched, so
// that their mean for unrelated texts becomes usualBackground and 1 stays 1.

// usualBackground is the mean cosine of unrelated texts by the embedder of the fit.
const usualBackground = 0.1

// maxBackground limits the stretch for models that find all texts similar.
const maxBackground = 0.95

// stretchFactor returns the factor, at least 1, by which the distance of a cosine from 1 grows.
func stretchFactor(background float64) float64 {
	return max(1, (1-usualBackground)/(1-min(clampUnit(background), maxBackground)))
}

// stretchCosine returns a cosine on the fitted scale. 0 means a missing vector and stays 0.
func stretchCosine(cosine, stretch float64) float64 {
	if cosine == 0 || stretch <= 1 {
		return cosine
	}
	return math.Max(-1, 1-(1-cosine)*stretch)
}

// EmbedderCosine returns the cosine on an embedder's own scale that corresponds to a cosine on the fitted scale.
// background is the embedder's average cosine of unrelated texts.
func EmbedderCosine(cosine, background float64) float64 {
	return 1 - (1-cosine)/stretchFactor(background)
}
