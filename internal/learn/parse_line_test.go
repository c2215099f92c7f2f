package learn

import "testing"

func TestOneLineIsAFactOrNothing(t *testing.T) {
	for reply, want := range map[string]string{
		"User plays the cello.":                             "User plays the cello.",
		"- User plays the cello":                            "User plays the cello",
		"User plays the cello.\nBecause the user said so.":  "User plays the cello.",
		"<think>hm, nothing?</think>User plays the cello":   "User plays the cello",
		`{"facts": ["User plays the cello", "User sings"]}`: "User plays the cello",
		"NOTHING":                     "",
		"nothing.":                    "",
		"There is nothing to store.":  "",
		"User eats nothing with nuts": "", // as the prompt's word is read, wherever it stands
		"":                            "",
		"   ":                         "",
		"Too short":                   "",
	} {
		got, err := ParseLine(reply)
		if err != nil || len(got) > 1 || (len(got) == 0) != (want == "") || len(got) == 1 && got[0].Text != want {
			t.Errorf("%q is read as %v, %v; want %q", reply, got, err, want)
		}
	}
}
