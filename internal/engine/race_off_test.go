//go:build !race

package engine

const (
	stride = 1
	seeds  = 4
	steps  = 80
	partly = false
)
