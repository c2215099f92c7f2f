package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
)

// What a reader can take in at once: a package or type beyond this needs a reason in
// [rules].
const (
	maxFiles   = 25
	maxLines   = 3500
	maxMethods = 40
)

// sizes counts what is not tests: files and lines by folder, methods by folder and type.
type sizes struct {
	files, lines, methods map[string]int
}

func (s sizes) add(name, dir string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.files[dir]++
	s.lines[dir] += bytes.Count(text, []byte("\n"))
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
			s.methods[dir+"."+receiver(fn.Recv.List[0].Type)]++
		}
	}
	return nil
}

// receiver returns the name of a method's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// over returns what is too large without a reason, and reasons that nothing needs any more.
func (s sizes) over(r rules) (broken []string) {
	for _, dir := range slices.Sorted(maps.Keys(s.files)) {
		over := s.files[dir] > maxFiles || s.lines[dir] > maxLines
		if over && r.large[dir] == "" {
			broken = append(broken, fmt.Sprintf("%s: %d files of %d lines, more than %d or %d", dir, s.files[dir], s.lines[dir], maxFiles, maxLines))
		}
		if !over && r.large[dir] != "" {
			broken = append(broken, fmt.Sprintf("%s: needs no exception any more: %d files of %d lines", dir, s.files[dir], s.lines[dir]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		over := s.methods[name] > maxMethods
		if over && r.broad[name] == "" {
			broken = append(broken, fmt.Sprintf("%s: %d methods, more than %d", name, s.methods[name], maxMethods))
		}
		if !over && r.broad[name] != "" {
			broken = append(broken, fmt.Sprintf("%s: needs no exception any more: %d methods", name, s.methods[name]))
		}
	}
	return broken
}
