package english

import (
	"slices"
	"testing"
)

func TestKinIn(t *testing.T) {
	for fact, want := range map[string][]string{
		"User runs a shop with User's brother Faisal":            {"faisal"},
		"User's daughter is named Noor":                          {"noor"},
		"User's daughter Noor's bike is pink":                    {"noor"},
		"User has a dog called Biscuit and lives in Leeds":       {"biscuit"},
		"User's sister Mira lives in Lisbon":                     {"mira"},
		"User's brother is Faisal and their sister's name Amina": {"faisal", "amina"},
		"User's manager said Monday is fine":                     nil,
		"User lives in Leeds":                                    nil,
		"":                                                       nil,
		"User runs a shop with User's brother faisal":            {"faisal"},
		"User's daughter noor is seven":                          {"noor"},
		"User's mum told User to rest":                           nil,
		"User's brother works at a bank":                         nil,
		"User's sister and mother came to visit":                 nil,
	} {
		if got := KinIn(fact); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", fact, got, want)
		}
	}
}
