//go:build !race

package transformer

const shapesTried = 3
