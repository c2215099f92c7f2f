package extract

// dieting accepts the name of a diet: "keto diet".
func dieting(c *clause, i int) string {
	for j := i; j < i+3; j++ {
		if c.at(j) == "diet" && j > i {
			return ThirdPerson(c.text(i, j+1))
		}
	}
	return ""
}
