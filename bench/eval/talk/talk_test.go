package talk

import (
	"slices"
	"strings"
	"testing"
)

func TestTalkIsTheSameForASeed(t *testing.T) {
	said := New(5).Sentences(50)
	if !slices.Equal(said, New(5).Sentences(50)) || slices.Equal(said, New(6).Sentences(50)) {
		t.Error("talk does not follow its seed")
	}
	for _, s := range said {
		if len(contentWords(s)) < 2 {
			t.Errorf("%q says too little to be asked about", s)
		}
	}
	all := strings.Join(said, " ")
	for _, q := range New(7).Questions(200, said) {
		known := 0
		for _, w := range contentWords(q) {
			if strings.Contains(all, w) {
				known++
			}
		}
		if known < 2 || known > 14 { // the frames have up to six words of their own
			t.Errorf("%q has %d words that were said", q, known)
		}
	}
}
