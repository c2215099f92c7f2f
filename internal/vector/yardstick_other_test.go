//go:build !amd64

package vector

// read does nothing without wide loads.
func read([]uint8) {}
