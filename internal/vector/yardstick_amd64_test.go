package vector

import "unsafe"

// read reads the bytes with the widest loads of this machine.
func read(v []uint8) {
	if fastest() == avx512 {
		readAVX512(unsafe.SliceData(v), len(v)&^511)
	} else if fastest() == avx2 {
		readAVX2(unsafe.SliceData(v), len(v)&^511)
	}
}
