package text

import (
	"slices"
	"testing"
)

// shared reports whether a question and a memory have a term in common.
func shared(question, memory string) bool {
	have := Terms(memory)
	return slices.ContainsFunc(Terms(question), func(t string) bool { return slices.Contains(have, t) })
}

func TestQuestionsMeetMemoriesInEveryScript(t *testing.T) {
	for _, c := range []struct {
		rule, question, memory string
		want                   bool
	}{
		{"Chinese", "我的生日是什么时候？", "用户的生日是五月七日", true},
		{"Chinese about something else", "他喜欢音乐吗", "用户住在北京", false},
		{"Japanese", "どこに住んでいますか", "ユーザーは東京に住んでいる", true},
		{"katakana", "コーヒーは好き？", "毎朝コーヒーを飲む", true},
		{"full-width letters and digits", "ＰＣ９８を持っている？", "pc98を買った", true},
		{"scripts side by side", "Pythonを使う？", "仕事ではpythonです", true},
		{"Korean with another ending", "고양이를 키워?", "고양이가 두 마리 있다", true},
		{"Thai", "ชอบอาหารอะไร", "ผู้ใช้ชอบอาหารไทย", true},
		{"accents", "Où est le café de José?", "Jose likes the CAFE", true},
		{"Cyrillic case", "МОСКВА?", "живу в городе москва", true},
		{"Greek capitals", "ΑΘΗΝΑ", "ζω στην αθηνα", true},
		{"a single character asked, a single one said", "猫？", "猫 dog", true},
		{"a single character asked, one among kana said", "猫？", "うちの猫が好き", true},
	} {
		if got := shared(c.question, c.memory); got != c.want {
			t.Errorf("%s: %q and %q share a term: %v, want %v (%q, %q)", c.rule, c.question, c.memory, got, c.want, Terms(c.question), Terms(c.memory))
		}
	}
}

func FuzzMayDateMissesNoDate(f *testing.F) {
	for _, s := range []string{"last Friday", "07.05.2023", "in 2 weeks", "May 7th", "two days ago", "2023-01-02", "İstanbul yesterday", "the 3rd of june"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if mayContainDate(s) {
			return
		}
		p := newDateParser(s, reference)
		p.tokenize()
		for i := range p.tokens {
			if d := p.datesAt(i, dateForms()); d != nil {
				t.Fatalf("%q has the date %+v and is passed over", s, d)
			}
		}
	})
}
