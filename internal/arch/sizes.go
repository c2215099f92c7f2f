package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
)

// maxMethods is how many methods a reader can take in: a type with more needs a reason in
// [rules].
const maxMethods = 40

// sizes counts what is not tests: Go by folder, methods by folder and type.
type sizes struct {
	packages map[string]size
	methods  map[string]int
}

func (s sizes) add(name, dir string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.packages[dir] = s.packages[dir].plus(measure(text))
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

// over returns the types that are too large without a reason, and reasons that are obsolete.
func (s sizes) over(r rules) (broken []string) {
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
