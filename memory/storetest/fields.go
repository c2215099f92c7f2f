package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
	"github.com/loci-memory/loci/memory/memtest"
)

// variables are the values to which the steps of a script can refer.
type variables struct {
	clock      *memtest.Clock
	writeTimes map[string]time.Time    // times of writes, by label
	leases     map[string]memory.Lease // latest leases, by label of the claim and by id of the job
	cursors    map[string]string       // cursor after the page of a step, by the step's label
}

// setField sets the field at the path w.key, such as scope.project or valid_to, to w.value. It replaces nil
// pointers on the path by new values.
func (v *variables) setField(into reflect.Value, w word) error {
	for name := range strings.SplitSeq(w.key, ".") {
		if into.Kind() == reflect.Pointer {
			if into.IsNil() {
				into.Set(reflect.New(into.Type().Elem()))
			}
			into = into.Elem()
		}
		field := fieldOf(into, name)
		if !field.IsValid() {
			return fmt.Errorf("%s has no %s", into.Type(), name)
		}
		into = field
	}
	return v.parseInto(into, w.value)
}

func fieldOf(v reflect.Value, name string) reflect.Value {
	name = strings.ReplaceAll(name, "_", "")
	return v.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
}

// parseInto parses a text as a value of into's type. A list is written a|b, a vector as the text that it
// embeds, a lease as the label of its claim or its job, and a hit of a trace as KIND:ID:OWNER:TEXT.
// $TEXT means the hash of TEXT.
func (v *variables) parseInto(into reflect.Value, text string) error {
	switch into.Interface().(type) {
	case time.Time:
		t, err := v.parseTime(text)
		into.Set(reflect.ValueOf(t))
		return err
	case time.Duration:
		d, err := time.ParseDuration(text)
		into.SetInt(int64(d))
		return err
	case memory.Owner:
		into.SetString(string(v.parseOwner(text)))
		return nil
	case json.RawMessage:
		into.SetBytes([]byte(text))
		return nil
	case memory.Core:
		into.SetString(strings.TrimPrefix(text, "auto"))
		return nil
	case memory.Lease:
		lease, err := v.parseLease(text)
		into.Set(reflect.ValueOf(lease))
		return err
	case *memory.Lease:
		lease, err := v.parseLease(text)
		into.Set(reflect.ValueOf(&lease))
		return err
	case []memory.TraceHit:
		var hits []memory.TraceHit
		for one := range strings.SplitSeq(text, "|") {
			parts := append(strings.SplitN(one, ":", 4), "", "", "")
			hits = append(hits, memory.TraceHit{Kind: memory.Kind(parts[0]), ID: parts[1], Owner: v.parseOwner(parts[2]), Content: parts[3]})
		}
		into.Set(reflect.ValueOf(hits))
		return nil
	case []float32:
		if text != "" {
			into.Set(reflect.ValueOf(memtest.Embed(text)))
		}
		return nil
	}
	return v.parseBasicKind(into, text)
}

func (v *variables) parseBasicKind(into reflect.Value, text string) error {
	switch into.Kind() {
	case reflect.String:
		if words, ok := strings.CutPrefix(text, "$"); ok {
			text = memtest.Hash(words)
		}
		into.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		into.SetBool(b)
		return err
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		into.SetInt(n)
		return err
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		into.SetFloat(f)
		return err
	case reflect.Slice:
		list := strings.Split(text, "|")
		if text == "" {
			list = nil
		}
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i, one := range list {
			if err := v.parseInto(into.Index(i), one); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("a %s has no text", into.Type())
	}
	return nil
}

// parseOwner returns the owner that scripts call ana, ben or team; any other name is the owner itself.
func (v *variables) parseOwner(name string) memory.Owner {
	switch name {
	case "ana":
		return ana
	case "ben":
		return ben
	case "team":
		return team
	}
	return memory.Owner(name)
}

// parseLease returns a lease by the label of its claim or by its job; none:OWNER is an invalid lease.
func (v *variables) parseLease(name string) (memory.Lease, error) {
	if owner, ok := strings.CutPrefix(name, "none:"); ok {
		return memory.Lease{Owner: v.parseOwner(owner), Job: "job", Token: "none"}, nil
	}
	lease, ok := v.leases[name]
	if !ok {
		return lease, fmt.Errorf("no job or claim is called %q", name)
	}
	return lease, nil
}

// parseTime parses a time: +1h is relative to [memtest.Epoch], now is the clock's time, @NAME is the time of
// the write labelled NAME, @NAME-1us a microsecond earlier, 2021-06-01 is a day, "" the zero time.
func (v *variables) parseTime(text string) (time.Time, error) {
	switch {
	case text == "":
		return time.Time{}, nil
	case text[0] == '+' || text[0] == '-':
		d, err := time.ParseDuration(text)
		return memtest.Epoch.Add(d), err
	case text == "now":
		return v.clock.Now(), nil
	case text[0] == '@':
		label, offset := text[1:], time.Duration(0)
		var err error
		if i := strings.LastIndexAny(label, "+-"); i > 0 {
			offset, err = time.ParseDuration(label[i:])
			label = label[:i]
		}
		at, ok := v.writeTimes[label]
		if err == nil && !ok {
			err = fmt.Errorf("no step is called %q", label)
		}
		return at.Add(offset), err
	case len(text) == len(time.DateOnly):
		return time.Parse(time.DateOnly, text)
	}
	return time.Parse(time.RFC3339Nano, text)
}

// valueAtPath returns a row's value at a path. Each name in the path is a field or a method without
// arguments. Examples for a memory: fact.core, status, content.
func valueAtPath(row reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		row = fieldOrMethod(row, name)
	}
	return row
}

func fieldOrMethod(v reflect.Value, name string) reflect.Value {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return reflect.Value{}
	}
	pointer := v
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	} else {
		pointer = reflect.New(v.Type())
		pointer.Elem().Set(v)
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	if field := fieldOf(v, name); field.IsValid() {
		return field
	}
	flat := strings.ReplaceAll(name, "_", "")
	for i := range pointer.NumMethod() {
		method := pointer.Type().Method(i)
		if strings.EqualFold(method.Name, flat) && method.Type.NumIn() == 1 && method.Type.NumOut() == 1 {
			return pointer.Method(i).Call(nil)[0]
		}
	}
	for i := range v.NumField() {
		if fieldValue := v.Field(i); fieldValue.Kind() == reflect.Pointer || fieldValue.Type() == reflect.TypeFor[memory.Memory]() {
			if found := fieldOrMethod(fieldValue, name); found.IsValid() {
				return found
			}
		}
	}
	return reflect.Value{}
}

// rowName returns the id, key or other name by which scripts refer to a row.
func rowName(row reflect.Value) string {
	switch v := row.Interface().(type) {
	case memory.ProfileEntry:
		return v.Key
	case memory.Relation:
		return strings.TrimPrefix(memory.State{Relation: &v}.Target(), "relation:")
	case memory.Key:
		return v.Name
	}
	if row.Kind() != reflect.Struct {
		return fmt.Sprint(row.Interface())
	}
	if id := fieldOrMethod(row, "id"); id.IsValid() {
		return fmt.Sprint(id.Interface())
	}
	return ""
}
