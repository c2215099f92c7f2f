package learn

import "testing"

func TestOneWayWritesOneThingOneWay(t *testing.T) {
	for said, want := range map[string]string{
		"I'm twenty-five.":                      "I'm 25.",
		"I am twenty five years old":            "I am 25 years old",
		"nine hundred euros":                    "900 euros",
		"two thousand, not three":               "2000, not 3",
		"a hundred and five":                    "a 100 and 5",
		"three hundred twenty words":            "320 words",
		"My rent is $900, say.":                 "My rent is 900 dollars, say.",
		"(€5.50)":                               "(5.50 euros)",
		"on Tue and Thurs.":                     "on Tuesday and Thursday",
		"He passed away.":                       "He died.",
		"I passed the exam, one of the second":  "I passed the exam, one of the second",
		"nobody ten-folds  what mon and fri is": "nobody ten-folds  what mon and fri is",
		"":                                      "",
	} {
		if got := oneWay(said); got != want {
			t.Errorf("oneWay(%q) = %q, want %q", said, got, want)
		}
	}
}
