package mem0

import (
	"slices"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// wildcard matches every id.
const wildcard = "*"

// filter selects memories by ids and category. All set fields must match.
type filter struct {
	ids
	Category string
}

// addConditions adds the conditions of a JSON object.
func (f *filter) addConditions(object map[string]any) error {
	for _, name := range sortedKeys(object) {
		if err := f.addCondition(name, object[name]); err != nil {
			return err
		}
	}
	return nil
}

// addCondition adds one condition: an id, a category, or a list of conditions that must all match.
func (f *filter) addCondition(name string, value any) error {
	list, isList := value.([]any)
	if isList && (name == "AND" || name == "OR" && len(list) == 1) {
		for _, condition := range list {
			object, ok := condition.(map[string]any)
			if !ok {
				return memory.Errorf(memory.Invalid, "filters: %s takes a list of objects", name)
			}
			if err := f.addConditions(object); err != nil {
				return err
			}
		}
		return nil
	}
	field := f.field(name)
	text, ok := singleValue(name, value)
	switch {
	case field == nil:
		return errUnsupportedFilter(name)
	case !ok:
		return memory.Errorf(memory.Invalid, `filters: %s: Loci compares with one text, as in {"%s": "x"}; send one request for each value`, name, name)
	case *field != "" && *field != text:
		return memory.Errorf(memory.Invalid, "filters: %s has two different values", name)
	}
	*field = text
	return nil
}

// field returns the filter's field for a condition with this name, or nil if Loci does not support the condition.
func (f *filter) field(name string) *string {
	if name == "categories" {
		return &f.Category
	}
	if n := slices.Index(idNames, name); n >= 0 {
		return f.fields()[n]
	}
	return nil
}

// singleValue returns the single value x of a condition: "x", ["x"], {"eq": "x"} or {"in": ["x"]}, and for
// categories also {"contains": "x"}.
func singleValue(name string, value any) (string, bool) {
	if object, ok := value.(map[string]any); ok && len(object) == 1 {
		for op, inner := range object {
			if op == "eq" || op == "in" || op == "contains" && name == "categories" {
				value = inner
			}
		}
	}
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	text, ok := value.(string)
	return text, ok && text != ""
}

// errUnsupportedFilter is the error for an unsupported filter, with an alternative.
func errUnsupportedFilter(name string) error {
	advice := "Loci filters by user_id, agent_id, app_id, run_id and categories, joined with AND; to select memories by another field, add them with a separate run_id"
	switch name {
	case "OR":
		advice = "Loci joins conditions with AND; send one request for each condition"
	case "NOT":
		advice = "Loci joins conditions with AND; remove unwanted results in the client"
	case "created_at", "updated_at", "start_date":
		advice = "Loci does not filter by time; each result has its created_at and updated_at"
	}
	return memory.Errorf(memory.Invalid, "filters: %s: %s", httpx.Truncate(name, maxNameBytes), advice)
}
