//go:build !race

package engine

const stride = 1
