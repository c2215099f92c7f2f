package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tailscale/hujson"
)

// TestMembersComeAndGoInPlace writes a member and takes it back: all else is as it was.
func TestMembersComeAndGoInPlace(t *testing.T) {
	type command struct {
		Command string `json:"command"`
	}
	for _, c := range []struct{ name, before, after, back string }{
		{"nothing", "{}\n", "{\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\n}\n", ""},
		{"beside others", "{\n  \"b\": 1,\n  \"a\": 2\n}\n",
			"{\n  \"b\": 1,\n  \"a\": 2,\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\n}\n", ""},
		{"tabs, in what is there", "{\n\t\"servers\": {\n\t\t\"other\": {\"command\": \"y\"}\n\t},\n\t\"z\": null\n}",
			"{\n\t\"servers\": {\n\t\t\"other\": {\"command\": \"y\"},\n\t\t\"loci\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"z\": null\n}", ""},
		{"comments", "// mine\n{\n  \"a\": 1 // one, {two}\n  /* three */\n}\n",
			"// mine\n{\n  \"a\": 1, // one, {two}\n  /* three */\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\n}\n", ""},
		{"a trailing comma", "{\n  \"servers\": {\n    \"other\": {}, // y\n  },\n}\n",
			"{\n  \"servers\": {\n    \"other\": {}, // y\n    \"loci\": {\n      \"command\": \"x\"\n    },\n  },\n}\n", ""},
		{"one line", `{"servers": {"a\"}": [1, 2.5e-3, true]}}`, `{"servers": {"a\"}": [1, 2.5e-3, true], "loci": {"command":"x"}}}`, ""},
		{"Windows", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\r\n}\r\n", ""},
		{"a comment where it goes", "{\n  \"servers\": {\n    // none yet\n  }\n}\n",
			"{\n  \"servers\": {\n    // none yet\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\n}\n", ""},
		{"an empty object goes with it", "{\n  \"servers\": {},\n  \"a\": 1\n}\n",
			"{\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  },\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"},
	} {
		after, err := edited(c.before, func(root *hujson.Value) error { return insertJSON(root, []string{"servers", "loci"}, command{"x"}) })
		if diff := cmp.Diff(c.after, after); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", c.name, err, diff)
			continue
		}
		if c.back == "" {
			c.back = c.before
		}
		back, err := edited(after, func(root *hujson.Value) error { removeJSON(root, []string{"servers", "loci"}); return nil })
		if diff := cmp.Diff(c.back, back); diff != "" || err != nil {
			t.Errorf("%s: taken back: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestMembersGoFromBetweenOthers: also where another one was written behind it.
func TestMembersGoFromBetweenOthers(t *testing.T) {
	for _, c := range [][2]string{
		{"{\n  \"loci\": {},\n  \"b\": 2\n}", "{\n  \"b\": 2\n}"},
		{"{\n  \"a\": 1,\n  \"loci\": {},\n  \"b\": 2\n}", "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{"{ // c\n  \"loci\": {}, \"b\": 2\n}", "{ // c\n  \"b\": 2\n}"},
		{"{\n  \"a\": 1, // c\n  \"loci\": {} // d\n}", "{\n  \"a\": 1 // c\n  // d\n}"},
		{`{"a":1,"loci":{}}`, `{"a":1}`},
		{`{"loci":{},"a":1}`, `{"a":1}`},
		{"{\n  \"loci\": {}\n}\n", "{}\n"},
	} {
		got, err := edited(c[0], func(root *hujson.Value) error { removeJSON(root, []string{"loci"}); return nil })
		if got != c[1] || err != nil {
			t.Errorf("of %s\ngot  %s\nwant %s, %v", c[0], got, c[1], err)
		}
		if _, err := parseJSON(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

// TestWhatIsNoObjectIsRefused names the line.
func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "unexpected EOF",
		"[]":                       "the file is not a JSON object",
		"null":                     "the file is not a JSON object",
		"{\n \"a\": 1\n \"b\": 2}": "line 3",
		"{a: 1}":                   "line 1",
		`{"a": "b`:                 "unexpected EOF",
		`{"a": 1} {}`:              "line 1",
		"{\n/* ":                   "unexpected EOF",
	} {
		if _, err := parseJSON(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"servers": 1}`, `{"servers": {"loci": 1}}`, `{"servers": []}`} {
		if out, err := edited(text, func(root *hujson.Value) error { return insertJSON(root, []string{"servers", "loci"}, "x") }); err == nil {
			t.Errorf("%s becomes %s", text, out)
		}
	}
}

// edited returns a text as an edit leaves it.
func edited(text string, edit func(root *hujson.Value) error) (string, error) {
	root, err := parseJSON(text)
	if err != nil {
		return "", err
	}
	err = edit(root)
	return root.String(), err
}

// FuzzSettingsAreEditedInPlace: what is written into any file that can be read is there, and
// gone again.
func FuzzSettingsAreEditedInPlace(f *testing.F) {
	for _, text := range []string{`{}`, `{"a": [1, {"b": "c"},], /* d */ }`, "{\n  \"servers\": {\n    // e\n  }\n}", `{"servers": {"f": 1}}`, "{ // c\n\"f\": 1, \"g\": 2}"} {
		f.Add(text)
	}
	path := []string{"servers", "loci"}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := parseJSON(text)
		if err != nil || valueAt(root, path...) != nil {
			return
		}
		parts, _ := partsOf(valueAt(root, "servers"))
		fresh := valueAt(root, "servers") == nil || len(parts) > 0
		if insertJSON(root, path, map[string]string{"command": "x"}) != nil {
			return // the place is taken by another kind of value
		}
		put := root.String()
		if root, err = parseJSON(put); err != nil || valueAt(root, "servers", "loci", "command") == nil {
			t.Fatalf("%q becomes %q: %v", text, put, err)
		}
		removeJSON(root, path)
		cut := root.String()
		after, err := parseJSON(cut)
		if err != nil || valueAt(after, path...) != nil {
			t.Fatalf("%q becomes %q and then %q: %v", text, put, cut, err)
		}
		if fresh && strings.Join(strings.Fields(cut), "") != strings.Join(strings.Fields(text), "") {
			t.Fatalf("%q becomes %q and then %q, want what there was", text, put, cut)
		}
	})
}
