package recall

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
)

// Chinese and Japanese text is searched by pairs of characters. Question words and their neighbours form pairs that no
// answer contains: "我对什么过敏?" has five pairs, of which "用户对花生过敏" has one. Question words are therefore removed first.
var (
	unspacedQuestionWords = lazy.Compile(`请问|请?告诉我|[你您]还?(?:知不知道|知道|记不记得|记得)|` +
		`我们?[的在对从有是去]?|什么(?:时候|地方|名字)?|[哪何](?:里|儿|处|个|些|天|年|时|一)?|谁|怎么样?|怎样|为什么|为何|` +
		`多[少大]|几[岁点个号月]|有没有|是不是|现在|[吗呢吧啊]|` +
		`(?:私|わたし|僕|ぼく|俺)(?:たち)?[はのがをにも]?|どこ[でにへがの]?|いつ|(?:誰|だれ)[がとのに]?|(?:何|なに|なん)[をがでの]?|` +
		`ど(?:れ|の|んな|う)|いく[つら]|(?:覚えて|知って)い?ますか|教えて(?:ください)?|(?:です|ます|でした|ました|ません)か`)

	unspacedFirstPerson = lazy.Compile(`我|私|わたし|僕|ぼく|俺`)
	unspacedBroad       = lazy.Compile(`^\s*(?:[你您]?(?:都|还)?(?:知道|了解|记得)(?:关于)?我(?:的)?(?:些)?(?:什么|哪些|多少)(?:事情?)?|关于我,?，?[你您]?(?:都|还)?(?:知道|了解|记得)(?:些)?什么|我是谁|` +
		`(?:私|わたし|僕|ぼく|俺)について(?:何を|なにを)?(?:知って|覚えて)い(?:ます|る)か?|(?:私|わたし|僕|ぼく|俺)(?:は|って)(?:誰|だれ)(?:です)?か?)\s*[呢吗]?[?？。]?\s*$`)
)

// setUnspacedFields sets the fields of a question in a script without spaces.
func (q *Query) setUnspacedFields() {
	q.isAboutUser = q.isAboutUser || unspacedFirstPerson.MatchString(q.OwnText)
	q.IsBroad = q.IsBroad || unspacedBroad.MatchString(q.OwnText)
}

// hasUnspacedScript reports whether a text contains a Chinese character or a kana.
func hasUnspacedScript(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x3040 && r <= 0x30ff || r >= 0x4e00 && r <= 0x9fff })
}
