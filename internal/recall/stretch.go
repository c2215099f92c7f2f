package recall

import "math"

// Models differ in where the cosines of unrelated texts lie: around 0.1 for some,
// around 0.7 for others, of whose scale only the upper end tells anything. What is
// fitted here is fitted to the former, so that the latter's scale is stretched: what is
// unrelated comes to lie at usualBackground, and 1 stays 1.

// usualBackground is about the mean cosine of a question with all that is found by its
// words, by the embedder that the weights were fitted with.
const usualBackground = 0.1

// mostBackground bounds the stretch: a model that finds everything alike knows nothing.
const mostBackground = 0.95

// stretchOf returns by how much the distance of a cosine from 1 grows, at least 1.
func stretchOf(background float64) float64 {
	return max(1, (1-usualBackground)/(1-min(unit(background), mostBackground)))
}

// stretched returns a cosine on the scale that is fitted. 0, which stands for no vector,
// stays.
func stretched(cosine, stretch float64) float64 {
	if cosine == 0 || stretch <= 1 {
		return cosine
	}
	return math.Max(-1, 1-(1-cosine)*stretch)
}

// Place returns which cosine, of an embedder by which unrelated texts have that of the
// background, stands for the same place as this one does on the scale that is fitted.
func Place(cosine, background float64) float64 {
	return 1 - (1-cosine)/stretchOf(background)
}
