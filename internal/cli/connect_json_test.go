package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"Windows", "\ufeff{\r\n  \"a\": 1\r\n}\r\n", "\ufeff{\r\n  \"a\": 1,\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\r\n}\r\n", ""},
		{"a comment where it goes", "{\n  \"servers\": {\n    // none yet\n  }\n}\n",
			"{\n  \"servers\": {\n    // none yet\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  }\n}\n", ""},
		{"an empty object goes with it", "{\n  \"servers\": {},\n  \"a\": 1\n}\n",
			"{\n  \"servers\": {\n    \"loci\": {\n      \"command\": \"x\"\n    }\n  },\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"},
	} {
		after, err := putJSON(c.before, []string{"servers", "loci"}, command{"x"})
		if diff := cmp.Diff(c.after, after); diff != "" || err != nil {
			t.Errorf("%s: %v, (-want +got):\n%s", c.name, err, diff)
			continue
		}
		if c.back == "" {
			c.back = c.before
		}
		root, err := readJSON(after)
		if err != nil {
			t.Fatal(err)
		}
		back := cutJSON(after, []*jsonNode{root, root.member("servers"), root.member("servers", "loci")})
		if diff := cmp.Diff(c.back, back); diff != "" {
			t.Errorf("%s: taken back (-want +got):\n%s", c.name, diff)
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
		root, err := readJSON(c[0])
		if err != nil {
			t.Fatal(err)
		}
		got := cutJSON(c[0], []*jsonNode{root, root.member("loci")})
		if got != c[1] {
			t.Errorf("of %s\ngot  %s\nwant %s", c[0], got, c[1])
		}
		if _, err := readJSON(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

// TestWhatIsNoObjectIsRefused names the line.
func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "line 1: unexpected end of JSON input",
		"[]":                       "it is not a JSON object",
		"null":                     "it is not a JSON object",
		"{\n \"a\": 1\n \"b\": 2}": "line 3: invalid character '\"' after object key:value pair",
		"{a: 1}":                   "line 1: invalid character 'a' looking for beginning of object key string",
		`{"a": "b`:                 "line 1: unexpected end of JSON input",
		`{"a": 1} {}`:              "line 1: invalid character '{' after top-level value",
		`{"a": [1`:                 "line 1: unexpected end of JSON input",
		"{\n/* ":                   "line 2: unexpected end of JSON input",
	} {
		if _, err := readJSON(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"servers": 1}`, `{"servers": {"loci": 1}}`, `{"servers": []}`} {
		if out, err := putJSON(text, []string{"servers", "loci"}, "x"); err == nil {
			t.Errorf("%s becomes %s", text, out)
		}
	}
}

// FuzzSettingsAreEditedInPlace: what is written into any file that can be read is there, and
// gone again.
func FuzzSettingsAreEditedInPlace(f *testing.F) {
	for _, text := range []string{`{}`, `{"a": [1, {"b": "c"},], /* d */ }`, "{\n  \"servers\": {\n    // e\n  }\n}", `{"servers": {"f": 1}}`} {
		f.Add(text)
	}
	path := []string{"servers", "loci"}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := readJSON(text)
		if err != nil || before.member(path...) != nil {
			return
		}
		put, err := putJSON(text, path, map[string]string{"command": "x"})
		if err != nil {
			return // the place is taken by another kind of value
		}
		root, err := readJSON(put)
		if err != nil || root.member("servers", "loci", "command") == nil {
			t.Fatalf("%q becomes %q: %v", text, put, err)
		}
		cut := cutJSON(put, []*jsonNode{root, root.member("servers"), root.member(path...)})
		after, err := readJSON(cut)
		if err != nil || after.member(path...) != nil {
			t.Fatalf("%q becomes %q and then %q: %v", text, put, cut, err)
		}
		if in := before.member("servers"); in != nil && len(in.items) == 0 {
			return // goes with it
		}
		if strings.Join(strings.Fields(cut), "") != strings.Join(strings.Fields(text), "") {
			t.Fatalf("%q becomes %q and then %q, want what there was", text, put, cut)
		}
	})
}
