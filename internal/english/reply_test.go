package english

import "testing"

func TestRepliesThatSayNothing(t *testing.T) {
	for reply, want := range map[string]string{
		"I have nothing on that yet.":  "",
		"I don't know your allergies.": "",
		"ok":                           "",
		"You told me that you are allergic to hazelnuts.":                         "",
		"18 degrees right now.":                                                   "",
		"Hmm, I'm not sure! You haven't mentioned an exam date to me.":            "",
		"Das weiß ich leider nicht.":                                              "",
		"I don't know your size. Boots should leave a thumb's width at the heel.": "Boots should leave a thumb's width at the heel. ",
		"It hangs in the hall behind the door.":                                   "It hangs in the hall behind the door. ",
		"Hello! Your train leaves at 17:42.":                                      "Your train leaves at 17:42. ",
	} {
		if got := Remainder(reply); got != want {
			t.Errorf("%q: %q remains, want %q", reply, got, want)
		}
		if got := SaysNothing(reply); got != (want == "") {
			t.Errorf("%q: says nothing: %v", reply, got)
		}
	}
}
