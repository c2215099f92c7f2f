// Command kernels writes the assembly of package tensor and the matching Go declarations. Run it with
// `go generate` in that package.
//
// A comment above each declaration describes the kernel. The portable function of the same name defines
// the result. Kernels do not check lengths; their Go callers do.
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

// function begins a kernel. Its pointers must not outlive a call.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}
