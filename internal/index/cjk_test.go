package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/memory"
)

// A single character is found in the words that it is in, as often as it is there.
func TestASingleCharacterFindsTheTextsWithIt(t *testing.T) {
	items := []memory.IndexItem{
		in(said("1", "用户喜欢喝绿茶")), in(said("2", "茶 好")), in(said("3", "うちの黒猫が好き")), in(said("4", "猫が好き")), in(said("5", "茶馆茶叶红茶")), in(said("6", "I like tea")),
		in(said("7", "우리는 차를 마신다")),
	}
	snap := Build(items)
	for question, want := range map[string]string{
		"茶": "[1 2 5]", "猫": "[3 4]", "茶?": "[1 2 5]", "tea 茶": "[1 2 5 6]", "차": "[7]", "馆": "[5]", "狗": "[]",
		"猫は": "[4]", "黒は": "[3]", // a word of the question that somebody has, and one that nobody has
	} {
		if got := fmt.Sprint(slices.Sorted(maps.Keys(asks(t, snap, question)))); got != want {
			t.Errorf("%q finds %s, want %s", question, got, want)
		}
	}
	for _, question := range []string{"茶", "猫", "茶 猫", "like 차", "馆 tea"} {
		agree(t, reference{"user:default/ana": items}, snap, memory.Search{Scopes: []memory.Scope{{Owner: "user:default/ana"}}, Text: question, Now: day, Limit: 10})
	}
}

// What is forgotten has no characters, before compaction and after; what a checkpoint was read from has.
func TestCharactersFollowWhatIsThere(t *testing.T) {
	sh := newShard()
	sh.apply(in(said("1", "绿茶")))
	sh.apply(in(said("2", "红茶")))
	snap := &Snapshot{owners: []memory.Owner{"user:default/ana"}, shards: []*shard{sh}}
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() {}, 2},
		{func() { sh.apply(memory.IndexItem{ID: "1", Removed: true}) }, 1},
		{func() { sh.compact() }, 1},
		{func() { sh.apply(in(said("3", "茶叶"))) }, 2},
	} {
		step.do()
		if found := asks(t, snap, "茶"); len(found) != step.want {
			t.Errorf("found %v, want %d", found, step.want)
		}
	}
}

// BenchmarkCharacter looks for a character among texts of two thousand.
func BenchmarkCharacter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.3, 20, 3000) // a few hundred make most of a text
	sh := newShard()
	for i := range 20_000 {
		words := make([]rune, 20)
		for j := range words {
			words[j] = 0x4e00 + rune(z.Uint64())
		}
		sh.apply(in(said(fmt.Sprint(i), string(words))))
	}
	p := openSegment(&sh.contents, &memory.Search{})
	for _, c := range []rune{0x4e00, 0x4e00 + 1000} {
		list := p.postingsContaining(string(c))
		b.Run(fmt.Sprintf("%d of %d terms, %d texts", len(p.termsByCharacter[c].startingWith)+len(p.termsByCharacter[c].endingWith), len(sh.terms), len(list)), func(b *testing.B) {
			for b.Loop() {
				p.postingsContaining(string(c))
			}
		})
	}
	held, size := 0, sh.size()
	for _, p := range sh.termsByCharacter {
		held += 120 + 4*(cap(p.startingWith)+cap(p.endingWith))
	}
	sh.termsByCharacter = nil
	b.Logf("characters take %d bytes, %d are reckoned, of %d", held, size-sh.size(), size)
}
