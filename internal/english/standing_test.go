package english

import "testing"

func TestFactsThatStand(t *testing.T) {
	for fact, want := range map[string]Topics{
		"The user wants short answers, 5 lines at most, because she reads on her phone between rounds.": Answers,
		"User prefers answers without emojis":                                       Answers,
		"User wants from now on: only metric units":                                 Answers,
		"The user wants no bullet points.":                                          Answers,
		"The user has dyslexia and needs short paragraphs.":                         Answers | Access,
		"The user's boss Ms Njeri wants mail subjects to begin with ACTION or FYI.": 0,
		"The user is lactose intolerant and cannot take milk.":                      Food | Body,
		"User is allergic to penicillin":                                            Body,
		"User is vegan":                                                             Food,
		"User takes candesartan, 8 mg in the morning":                               Body,
		"The user's shop captions have no emojis.":                                  0,
		"Always use metric units":                                                   Answers,
		"User lives on the third floor without lift":                                0,
		"User uses a wheelchair":                                                    Access,
		"User must not climb ladders":                                               Access,
		"User's husband is Henrik, a Danish organ builder":                          Kin,
		"User's daughter Jule studies in Leeds":                                     0,
		"The flatmate Ruaridh has a severe peanut allergy":                          Food | Body | Theirs,
		"User's mother takes warfarin 5 mg":                                         Body | Theirs,
		"User works at a bank in Lisbon":                                            0,
		"User likes short stories and tables made of oak":                           0,
		"User decided on Terraform":                                                 0,
	} {
		if got := StandingIn(fact) &^ Named; got != want {
			t.Errorf("%q: %06b, want %06b", fact, got, want)
		}
	}
}
