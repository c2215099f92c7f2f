package recall

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/text"
)

func TestUnspacedQuestionWordsAreNotSearched(t *testing.T) {
	for question, want := range map[string]string{
		"我对什么过敏？":           "过敏",
		"我在哪里出生？":           "出生",
		"我现在住在哪里？":          "住在",
		"你还记得我的生日是什么时候吗":    "生日是",
		"我们为什么选PostgreSQL？": "选 postgresql",
		"花生":                "花生",
		"什么":                "什么", // there is nothing else
		"私はどこで生まれましたか？":     "生まれ",
		"猫の名前は何ですか":         "猫の名前は",
		"いつ東京に行きますか":        "東京に行き",
	} {
		q := NewQuery(question, now, QueryOptions{})
		if got := text.Terms(q.SearchText); !slices.Equal(got, text.Terms(want)) {
			t.Errorf("%q is searched for as %q, want %q", question, got, text.Terms(want))
		}
	}
}

func TestChineseAndJapaneseQuestionsAboutTheUser(t *testing.T) {
	for question, want := range map[string][2]bool{ // about the user; for whatever is known
		"我对什么过敏？": {true, false}, "谁喜欢花生？": {false, false}, "私の猫の名前は？": {true, false},
		"你知道我什么？": {true, true}, "我是谁？": {true, true}, "私について何を知っていますか？": {true, true},
		"我是谁的医生？": {true, false}, "你知道我的工作吗？": {true, false},
	} {
		q := NewQuery(question, now, QueryOptions{})
		if got := [2]bool{q.isAboutUser, q.IsBroad}; got != want {
			t.Errorf("%q: about the user, and broad: %v, want %v", question, got, want)
		}
	}
}
