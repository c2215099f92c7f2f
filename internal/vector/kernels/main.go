// Command kernels writes the assembly of package vector and the matching Go declarations. Run it with
// `go generate` in that package.
//
// A comment above each declaration describes the kernel. The portable function of the same name defines
// the result. Kernels do not check lengths; their Go callers do.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	scanAVX512()
	scanAVX2()
	dotKernels()
	dotPacked()
	above()
	peaks()
	blend()
	halves()
	quantize()
	fetch()
	read()
	Generate()
}

// function begins a kernel. Its pointers must not outlive a call.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}
