// Command kernels writes the assembly of package tensor and the Go declarations
// that go with it. Run it by `go generate` in that package.
//
// A comment above each declaration describes the kernel; its portable function defines
// the result. Kernels do not check lengths: their callers in Go do.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	tileAVX512()
	tileAVX2()
	for _, w := range []wide{avx2, avx512} {
		w.gelu()
		w.softmax()
	}
	layerNorm()
	Generate()
}

// function begins a kernel whose pointers do not outlive a call.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}
