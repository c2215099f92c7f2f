package mem0

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpx"
	"github.com/loci-memory/loci/memory"
)

// largestFilter bounds the conditions and values of a filter, and so how deep it nests. The
// body bounds the length of its values.
const largestFilter = 500

// anything is the value that matches whatever is there.
const anything = "*"

// record is a memory as filters see it.
type record struct {
	ids
	unlabelled bool // it belongs to all users that requests name
	memory     memory.Memory
	metadata   map[string]any
}

func recordOf(c caller, m memory.Memory) *record {
	r := &record{ids: idsOf(m), memory: m}
	if n, _ := placed(c.owner.Name()); r.User == "" && (n == 0 || !c.named) {
		r.User, r.unlabelled = c.owner.Name(), !c.named && labelsOf(m) == ids{}
	}
	if m.Fact != nil && len(m.Fact.Metadata) > 0 {
		_ = json.Unmarshal(m.Fact.Metadata, &r.metadata) // checked when it was written
	}
	return r
}

// fieldOf returns the values of a field: one, several of a list, none where it is not set.
func (r *record) fieldOf(name string) []any {
	var value any
	switch name {
	case "user_id", "agent_id", "app_id", "run_id":
		value = *r.all()[slices.Index(idNames, name)]
	case "id":
		value = r.memory.ID()
	case "memory":
		value = r.memory.Content()
	case "created_at":
		value = r.memory.CreatedAt()
	case "updated_at":
		value = updatedAt(r.memory)
	case "categories":
		var out []any
		for _, c := range categories(r.memory) {
			out = append(out, c)
		}
		return out
	default:
		value = r.metadata[name]
	}
	if list, ok := value.([]any); ok {
		return list
	}
	if value == nil || value == "" {
		return nil
	}
	return []any{value}
}

func updatedAt(m memory.Memory) time.Time {
	if m.Fact != nil {
		return m.Fact.UpdatedAt
	}
	return m.CreatedAt()
}

// categories are a fact's category and tags.
func categories(m memory.Memory) []string {
	out := []string{}
	if m.Fact != nil && m.Fact.Category != "" {
		out = append(out, m.Fact.Category)
	}
	if m.Fact != nil {
		out = append(out, m.Fact.Tags...)
	}
	return out
}

// condition reports whether a filter lets a memory through.
type condition func(*record) bool

func every(all []condition) condition {
	return func(r *record) bool {
		return !slices.ContainsFunc(all, func(c condition) bool { return !c(r) })
	}
}

// all returns the condition that what is read of each name holds.
func all(names []string, read func(name string) (condition, error)) (condition, error) {
	var out []condition
	for _, name := range names {
		one, err := read(name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return every(out), nil
}

func not(c condition) condition { return func(r *record) bool { return !c(r) } }

// filter reads the filters of a request.
type filter struct {
	users []string // that they name, and places, each once, in order
	parts int
}

// count counts conditions and values.
func (f *filter) count(n int) error {
	if f.parts += n; f.parts > largestFilter {
		return memory.Errorf(memory.Invalid, "filters: more than %d conditions and values", largestFilter)
	}
	return nil
}

// read returns the condition of a JSON object. Where named is false it names no users, as
// below a NOT.
func (f *filter) read(object map[string]any, named bool) (condition, error) {
	return all(sortedKeys(object), func(name string) (condition, error) {
		if err := f.count(1); err != nil {
			return nil, err
		}
		return f.part(name, object[name], named)
	})
}

func (f *filter) part(name string, value any, named bool) (condition, error) {
	object, isObject := value.(map[string]any)
	switch {
	case name == "AND" || name == "OR" || name == "NOT":
		return f.logic(name, value, named)
	case name == "metadata" && isObject:
		inner, err := f.read(object, false)
		return func(r *record) bool { return inner(&record{metadata: r.metadata}) }, err
	case !isObject:
		return f.comparison(name, "eq", value, named)
	}
	return all(sortedKeys(object), func(op string) (condition, error) { return f.comparison(name, op, object[op], named) })
}

// logic returns what joins the conditions of a list: NOT lets through what meets none.
func (f *filter) logic(name string, value any, named bool) (condition, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var parts []condition
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, memory.Errorf(memory.Invalid, "filters: %s takes a list of objects", name)
		}
		one, err := f.read(object, named && name != "NOT")
		if err != nil {
			return nil, err
		}
		parts = append(parts, one)
	}
	some := func(r *record) bool {
		return slices.ContainsFunc(parts, func(c condition) bool { return c(r) })
	}
	switch name {
	case "AND":
		return every(parts), nil
	case "OR":
		return some, nil
	}
	return not(some), nil
}

// comparison returns the condition that a field compares with a value.
func (f *filter) comparison(name, op string, value any, named bool) (condition, error) {
	values, isList := value.([]any)
	if !isList {
		values = []any{value}
	}
	if isList != (op == "in" || op == "nin") && op != "eq" {
		return nil, memory.Errorf(memory.Invalid, "filters: %s: in and nin take a list, other operators one value", name)
	}
	if err := f.count(len(values)); err != nil {
		return nil, err
	}
	for i, v := range values {
		v, err := operand(name, v)
		if err != nil {
			return nil, err
		}
		values[i] = v
		id, _ := v.(string)
		n := slices.Index(idNames, name)
		if n < 0 || !named || id == "" || id == anything || op != "eq" && op != "in" {
			continue
		}
		if at, _ := placed(id); n == 0 && at > 0 {
			return nil, errPlace
		}
		if user := placeOf(n, id); !slices.Contains(f.users, user) {
			f.users = append(f.users, user)
		}
	}
	meets := operators[op]
	if meets == nil {
		return nil, memory.Errorf(memory.Invalid, "filters: %s: unknown operator %q", name, httpx.Brief(op, longName))
	}
	negated := op == "ne" || op == "nin"
	exact := negated || op == "eq" || op == "in"
	return func(r *record) bool {
		has := r.fieldOf(name)
		switch {
		case exact && name == "user_id" && r.unlabelled:
			return !negated
		case exact && len(has) == 0:
			return slices.Contains(values, nil) != negated
		}
		return negated != slices.ContainsFunc(has, func(one any) bool {
			return slices.ContainsFunc(values, func(want any) bool { return meets(one, want) })
		})
	}, nil
}

// operators report whether a value of a field meets one of a filter.
var operators = map[string]func(has, want any) bool{
	"eq": equal, "in": equal, "ne": equal, "nin": equal,
	"gt":        func(has, want any) bool { order, ok := compare(has, want); return ok && order > 0 },
	"gte":       func(has, want any) bool { order, ok := compare(has, want); return ok && order >= 0 },
	"lt":        func(has, want any) bool { order, ok := compare(has, want); return ok && order < 0 },
	"lte":       func(has, want any) bool { order, ok := compare(has, want); return ok && order <= 0 },
	"contains":  func(has, want any) bool { return contains(has, want, strings.Clone) },
	"icontains": func(has, want any) bool { return contains(has, want, strings.ToLower) },
}

func equal(has, want any) bool {
	order, ok := compare(has, want)
	return want == anything || ok && order == 0
}

func contains(has, want any, fold func(string) string) bool {
	h, isText := has.(string)
	w, asText := want.(string)
	return isText && asText && strings.Contains(fold(h), fold(w))
}

// operand returns a value as it is compared with a field.
func operand(name string, value any) (any, error) {
	if name == "created_at" || name == "updated_at" {
		return timeOf(name, value)
	}
	switch value.(type) {
	case string, nil, float64, bool:
		return value, nil
	}
	return nil, memory.Errorf(memory.Invalid, "filters: %s: a value is a text, a number, true, false or null", httpx.Brief(name, longName))
}

// timeOf reads a date, a time of day with it, or Unix seconds; [anything] and null stay.
func timeOf(name string, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return v, nil
	case float64:
		if v > -1e11 && v < 1e11 {
			return time.UnixMicro(int64(v * 1e6)).UTC(), nil
		}
	case string:
		if v == anything {
			return v, nil
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return nil, memory.Errorf(memory.Invalid, "%s: invalid time (example: 2026-05-03 or 2026-05-03T14:00:00Z)", name)
}

// compare orders two values of one type.
func compare(has, want any) (order int, ok bool) {
	switch h := has.(type) {
	case string:
		w, ok := want.(string)
		return cmp.Compare(h, w), ok
	case float64:
		w, ok := want.(float64)
		return cmp.Compare(h, w), ok
	case time.Time:
		w, ok := want.(time.Time)
		return h.Compare(w), ok
	case bool:
		w, ok := want.(bool)
		if h != w {
			order = 1
		}
		return order, ok
	}
	return 0, false
}
