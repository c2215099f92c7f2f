package lazy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryPatternOfTheProgramCompiles reads the program's source, since an invalid pattern would
// otherwise panic on first use.
func TestEveryPatternOfTheProgramCompiles(t *testing.T) {
	all, composed := expressions(t)
	for _, e := range all {
		if _, err := regexp.Compile(e.text); err != nil {
			t.Errorf("%s: %v", e.folder, err)
		}
	}
	if len(all) < 150 || composed > 10 {
		t.Errorf("%d patterns were compiled, and %d could not be read: this test does not see what there is", len(all), composed)
	}
}

// expression is a pattern with its folder.
type expression struct{ folder, text string }

// expressions returns the constant patterns in the program's source, and the number of those
// composed at run time.
func expressions(t *testing.T) (all []expression, composed int) {
	t.Helper()
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, files := range folders {
		texts := constants(files)
		for _, call := range patternsIn(files) {
			if text, ok := texts.of(call); ok {
				all = append(all, expression{folder, text})
			} else {
				composed++
			}
		}
	}
	return all, composed
}

// patternsIn are the arguments of Compile in files.
func patternsIn(files []*ast.File) (out []ast.Expr) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Compile" {
				if from, ok := f.X.(*ast.Ident); ok && from.Name == "lazy" {
					out = append(out, call.Args[0])
				}
			}
			return true
		})
	}
	return out
}

// texts are the constants of a package that may be part of a pattern, by name.
type texts map[string]ast.Expr

func constants(files []*ast.File) texts {
	all := texts{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for i, value := range v.Values {
							all[v.Names[i].Name] = value
						}
					}
				}
			}
			return true
		})
	}
	return all
}

// of returns the text of an expression, and whether it is constant.
func (t texts) of(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.Ident:
		value, ok := t[e.Name]
		if !ok {
			return "", false
		}
		return t.of(value)
	case *ast.ParenExpr:
		return t.of(e.X)
	case *ast.BinaryExpr:
		a, ok := t.of(e.X)
		b, also := t.of(e.Y)
		return a + b, ok && also
	}
	return "", false
}
