package english

import "testing"

func TestRepliesThatSayNothing(t *testing.T) {
	for reply, want := range map[string]bool{
		"I have nothing on that yet.":  true,
		"I don't know your allergies.": true,
		"ok":                           true,
		"You told me that you are allergic to hazelnuts.":                         true,
		"18 degrees right now.":                                                   true,
		"Hmm, I'm not sure! You haven't mentioned an exam date to me.":            true,
		"Das weiß ich leider nicht.":                                              true,
		"I don't know your size. Boots should leave a thumb's width at the heel.": false,
		"It hangs in the hall behind the door.":                                   false,
		"Hello! Your train leaves at 17:42.":                                      false,
	} {
		if got := HasNoInformation(reply); got != want {
			t.Errorf("%q: says nothing: %v", reply, got)
		}
	}
}
