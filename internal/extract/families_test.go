package extract

import (
	"slices"
	"testing"
)

// They are compiled when they are first needed, so that only this finds one that
// cannot be.
func TestEveryFormCompiles(t *testing.T) {
	for _, f := range append(slices.Clone(families), mine...) {
		for _, step := range compile(f.form) {
			if step.kind != "" && pieces[step.kind] == nil && values[step.kind] == nil {
				t.Errorf("form %q of %s asks for %q, which nothing accepts", f.form, f.rule, step.kind)
			}
		}
	}
	for _, s := range shapes {
		s.form.Regexp()
	}
}
