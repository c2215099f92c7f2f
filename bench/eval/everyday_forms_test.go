package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

// saidAndAsked is what somebody says first and last to the program, and how they then ask
// for the first in words of their own. The questions have the forms that recall puts in plain
// words: what they find by the words that they share with what was said they are to find after.
const saidAndAsked = `
I don't like coriander.|What don't I like?|What don't I like to eat?|What do I not like?
I hate coriander.|What don't I like?|What do I dislike?
I don't enjoy karaoke.|What don't I enjoy?
Tom doesn't like olives.|What doesn't Tom like?|Which food does Tom not like?
My brother doesn't like crowds.|What doesn't my brother like?
I work from 9 to 5 at Siemens.|How do I get to work?|Where do I work these days?
I take the tram to work.|How do I get to work?
I commute by bike.|How do I get to work?
I use Figma for work.|What do I use for work?|Which program do I use for work?
I'm a pharmacist.|What do I do for a living?
I do welding for work.|What do I do for work?
I'm based in Munich.|Where am I based?
I live in Munich.|Where am I based?
The barn is ninety years old.|How old is the barn?
I'm 34 years old.|How old am I?
I feel stuck in the choir.|How do I feel about the choir?
I think about sharks at night.|What do I think about at night?
I go to Dave for haircuts.|Who do I go to for haircuts?|Where do I go for haircuts?
I go to the sauna on Fridays.|Where do I go on Fridays?|When do I go to the sauna?
I got a scooter for Christmas.|What did I get for Christmas?
Dave called yesterday.|Who called yesterday?|Who called me?|When was it that Dave called?
I named the boat Gerald.|What did I name the boat?|What is the boat called?
My name is Hugo Brandt.|What's my full name?|What's my first name?|What's my name, by the way?|What's my name and my age?
My sister's name is Ines.|What's my sister's name?|What is my sister called?
I only drink still water.|Do I drink still or sparkling water?
I said to Rosa that I'd come.|What did I say to Rosa?
I forgot the umbrella in Lyon.|I forgot, where did I leave the umbrella?|Where did I forget the umbrella?
I have type 2 diabetes.|What type of diabetes do I have?
I want to see Norway again.|What do I want to see again?
`

// TestEverydayFormsFindWhatWasSaid holds for every form of question, in a memory of a few
// lines: a form that trades the asker's own words for others loses what was said in them.
func TestEverydayFormsFindWhatWasSaid(t *testing.T) {
	p := newPupil(t)
	user := 0
	for line := range strings.Lines(strings.TrimSpace(saidAndAsked)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		user++
		c := p.as(fmt.Sprint("user", user))
		var turns []Turn
		for i, said := range []string{parts[0], "The garden gate was painted green.", "We watched a film about penguins."} {
			turns = append(turns, Turn{Session: "a", At: everydayNow.Add(time.Duration(i-60) * time.Minute), Role: memory.RoleUser, Content: said})
		}
		ids := map[string]int{}
		p.ahead.Store(int64(time.Until(everydayNow)))
		if err := p.tell(t.Context(), c, turns, 0, len(turns), ids, &LessonOutcome{}); err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for id, place := range ids {
			names[id] = turns[place].Content
		}
		for _, question := range parts[1:] {
			found, err := c.Search(t.Context(), client.SearchRequest{Query: question})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Hits) == 0 || !slices.Contains(toldIn(found.Hits[0], names), parts[0]) {
				t.Errorf("%q: %q finds %q, want first what was said", parts[0], question, contents(found.Hits))
			}
		}
	}
}

func contents(hits []client.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Content)
	}
	return out
}
