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
	types    map[string]typeShape
}

// typeShape has the numbers of methods and fields of a type.
type typeShape struct {
	methods, fields int
	embeddedType    string // struct of the same package that the type embeds by pointer; empty without such a struct
	isEncoded       bool   // the type has fields with tags for JSON or settings
}

func (s sizes) addFile(name, dir string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.packages[dir] = s.packages[dir].add(measureFile(text))
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				t := dir + "." + receiverType(d.Recv.List[0].Type)
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
				it.embeddedType = dir + "." + base.Name
				it.fields-- // do not count the embedded pointer as a field: largeTypes counts both types as one
			}
		}
		it.isEncoded = it.isEncoded || f.Tag != nil && (strings.Contains(f.Tag.Value, "json:") || strings.Contains(f.Tag.Value, "koanf:"))
	}
	s.types[dir+"."+name] = it
}

// receiverType returns the name of a receiver's type.
func receiverType(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverType(t.X)
	case *ast.IndexExpr:
		return receiverType(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

// largeTypes returns the types over a limit, except unlimited types and types for JSON or settings. The methods and
// fields of a type that embeds a pointer to another type of its package count for that other type.
func (s sizes) largeTypes(unlimitedTypes map[string]string) map[string]typeShape {
	merged := map[string]typeShape{}
	for name, it := range s.types {
		for it.embeddedType != "" && s.types[it.embeddedType].embeddedType != name {
			name = it.embeddedType
			it.embeddedType = s.types[name].embeddedType
		}
		sum := merged[name]
		sum.methods, sum.fields, sum.isEncoded = sum.methods+it.methods, sum.fields+it.fields, sum.isEncoded || it.isEncoded
		merged[name] = sum
	}
	maps.DeleteFunc(merged, func(name string, it typeShape) bool {
		return it.isEncoded || unlimitedTypes[name] != "" || it.methods <= maxMethods && it.fields <= maxFields
	})
	return merged
}
