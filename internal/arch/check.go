package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checkModule parses every Go file of the module at root. It returns a line for each violation of layout,
// ordered by file, and the current sizes.
func checkModule(root string, layout rules) ([]string, budget, error) {
	var violations []string
	s := sizes{packages: map[string]size{}, types: map[string]typeShape{}}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDir(root, name, entry.Name())
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		fileViolations, err := layout.checkFile(name, filepath.ToSlash(rel))
		violations = append(violations, fileViolations...)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			return err
		}
		return s.addFile(name, path.Dir(filepath.ToSlash(rel)))
	})
	return violations, newBudget(s.packages, s.largeTypes(layout.unlimitedTypes)), err
}

// skipDir returns fs.SkipDir for folders that do not belong to the module's build.
func skipDir(root, name, base string) error {
	if name == root {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// checkFile returns the violations in a file; rel is the slash-separated path from the root.
func (r rules) checkFile(name, rel string) ([]string, error) {
	dir, isTest := path.Dir(rel), strings.HasSuffix(rel, "_test.go")
	isPure, isSerial := !isTest && matchesAnyPattern(r.withoutIO, dir), matchesAnyPattern(r.withoutGoroutines, dir)
	mode := parser.ImportsOnly
	if isPure || isSerial {
		mode = parser.SkipObjectResolution
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", rel, err)
	}
	var violations []string
	addViolation := func(format string, args ...any) {
		violations = append(violations, rel+": "+fmt.Sprintf(format, args...))
	}
	if !isTest && r.floor(dir) < 0 {
		addViolation("the folder %s is on no floor", dir)
	}
	for _, spec := range f.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", rel, err)
		}
		if why := r.importViolation(dir, target, isTest); why != "" {
			addViolation("imports %s: %s", target, why)
		}
		if isPure && isImpure(target) {
			addViolation("imports %s: %s uses no clock, randomness, log or I/O", target, dir)
		}
	}
	if isPure {
		for _, call := range clockCalls(f) {
			addViolation("uses time.%s: time is an argument in %s", call, dir)
		}
	}
	if isSerial && startsGoroutine(f) {
		addViolation("starts a goroutine: %s is tested without the race detector", dir)
	}
	return violations, nil
}

// importViolation returns the reason why the folder dir must not import target, or "" if dir may import it.
func (r rules) importViolation(dir, target string, isTest bool) string {
	folder, isOwn := r.moduleFolder(target)
	switch {
	case isOwn && isTest:
		return "" // tests may import any package
	case isOwn:
		return r.floorViolation(dir, folder)
	case !strings.Contains(strings.Split(target, "/")[0], "."):
		return "" // standard library
	case !isTest && matchesAnyPattern(r.stdlibOnly, dir):
		return dir + " imports only the standard library"
	case isTest && hasAnyPathPrefix(target, r.testModules), hasAnyPathPrefix(target, r.commonModules):
		return ""
	}
	for module, homes := range r.importers {
		if hasPathPrefix(target, module) {
			if matchesAnyPattern(homes, dir) {
				return ""
			}
			return fmt.Sprintf("only %s may import it", strings.Join(homes, ", "))
		}
	}
	return "importers has no entry for this library"
}

// floorViolation returns the reason why the folder dir must not import the folder target of the module, or "".
func (r rules) floorViolation(dir, target string) string {
	fromFloor, toFloor := r.floor(dir), r.floor(target)
	switch {
	case fromFloor < 0 || toFloor < 0:
		return "" // a folder without a floor is reported separately
	case toFloor == fromFloor:
		return "packages on the same floor must not import each other"
	case toFloor > fromFloor:
		return "packages may import only lower floors"
	case matchesAnyPattern(r.stores, target) && !matchesAnyPattern(r.wiring, dir):
		return "only the wiring and tests may import a concrete store"
	}
	return ""
}

// moduleFolder returns the folder of the imported package target, and whether it belongs to the module.
func (r rules) moduleFolder(target string) (string, bool) {
	if target == r.module {
		return ".", true
	}
	return strings.CutPrefix(target, r.module+"/")
}

// floor returns the index of a folder's floor in r.floors, or -1 for a folder without a floor.
func (r rules) floor(dir string) int {
	return slices.IndexFunc(r.floors, func(floor []string) bool { return matchesAnyPattern(floor, dir) })
}

// matchesAnyPattern reports whether one of the patterns matches the folder.
func matchesAnyPattern(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		parent, all := strings.CutSuffix(p, "/*")
		return p == dir || all && path.Dir(dir) == parent
	})
}

func hasPathPrefix(target, prefix string) bool {
	return target == prefix || strings.HasPrefix(target, prefix+"/")
}

func hasAnyPathPrefix(target string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return hasPathPrefix(target, p) })
}

func isImpure(target string) bool {
	return target == impureNetPackage || hasAnyPathPrefix(target, impurePackages)
}

// clockCalls returns the functions of package time by which a file reads the clock.
func clockCalls(f *ast.File) []string {
	name := ""
	for _, spec := range f.Imports {
		if spec.Path.Value == `"time"` {
			name = "time"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	var calls []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !clockFuncs[sel.Sel.Name] {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			calls = append(calls, sel.Sel.Name)
		}
		return true
	})
	return calls
}

// startsGoroutine reports whether a file has a go statement, or calls a method Go (of sync.WaitGroup or
// errgroup) or Parallel (of a test).
func startsGoroutine(f *ast.File) bool {
	starts := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Go" || sel.Sel.Name == "Parallel") {
				starts = true
			}
		}
		return !starts
	})
	return starts
}
