package recall

import "math"

// DefaultThreshold is the relevance under which a candidate is more likely about
// something else.
const DefaultThreshold = 0.1

// calibrate maps a fused score to the chance that the candidate answers.
func calibrate(fused float64) float64 {
	return 1 / (1 + math.Exp(-(calibrationSlope*fused + calibrationBase)))
}

const (
	calibrationSlope = 1.0
	calibrationBase  = -3.0
)
