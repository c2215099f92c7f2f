package learn

import (
	"time"
)

// dieting accepts the name of a diet: "keto diet".
func dieting(c *clause, i int) string {
	for j := i; j < i+3; j++ {
		if c.at(j) == "diet" && j > i {
			return thirdPerson(c.text(i, j+1))
		}
	}
	return ""
}

// expecting is how far off the day is that somebody with child is due, for those who
// say no more.
const expecting = 21 * 24 * time.Hour
