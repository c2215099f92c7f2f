package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"strings"
)

// Limits of methods and fields of a type. The budget has a row for each type over a limit.
const (
	maxMethods = 40
	maxFields  = 25
)

// sizes are the sizes of folders without tests, and the shapes of types by FOLDER.NAME.
type sizes struct {
	packages map[string]size
	types    map[string]shape
}

// typeShape has the numbers of methods and fields of a type.
type shape struct {
	methods, fields int
	base            string // struct of the same package that the type embeds by pointer; empty without such a struct
	isWire          bool   // the type has fields with tags for JSON or settings
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
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				t := dir + "." + receiver(d.Recv.List[0].Type)
				it := s.types[t]
				it.methods++
				s.types[t] = it
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					if fields, ok := t.Type.(*ast.StructType); ok {
						s.addStruct(dir, t.Name.Name, fields.Fields.List)
					}
				}
			}
		}
	}
	return nil
}

func (s sizes) addStruct(dir, name string, fields []*ast.Field) {
	it := s.types[dir+"."+name]
	for _, f := range fields {
		it.fields += max(1, len(f.Names))
		if star, ok := f.Type.(*ast.StarExpr); ok && len(f.Names) == 0 {
			if base, ok := star.X.(*ast.Ident); ok {
				it.base = dir + "." + base.Name
				it.fields-- // counted with the base type
			}
		}
		it.isWire = it.isWire || f.Tag != nil && (strings.Contains(f.Tag.Value, "json:") || strings.Contains(f.Tag.Value, "koanf:"))
	}
	s.types[dir+"."+name] = it
}

// receiverType returns the name of a receiver's type.
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

// largeTypes returns the types over a limit, except contracts and types for JSON or settings. A type that embeds a
// pointer to another type of its package is counted with the other type.
func (s sizes) large(contracts map[string]string) map[string]shape {
	whole := map[string]shape{}
	for name, it := range s.types {
		for it.base != "" && s.types[it.base].base != name {
			name = it.base
			it.base = s.types[name].base
		}
		sum := whole[name]
		sum.methods, sum.fields, sum.isWire = sum.methods+it.methods, sum.fields+it.fields, sum.isWire || it.isWire
		whole[name] = sum
	}
	maps.DeleteFunc(whole, func(name string, it shape) bool {
		return it.isWire || contracts[name] != "" || it.methods <= maxMethods && it.fields <= maxFields
	})
	return whole
}
