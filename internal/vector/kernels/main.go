// Command kernels writes the assembly of package vector and the Go declarations
// that go with it. Run it by `go generate` in that package.
//
// Each kernel is told of in the comment above its declaration; what it computes is
// said by the portable function it stands for. Kernels trust their callers: lengths
// are checked in Go.
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

// function begins a kernel of the given name, whose pointers do not outlive a call.
func function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}
