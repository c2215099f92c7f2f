package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/memory"
)

func TestFactsAreRelatedShownAndUndone(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	added := func(words string) string {
		t.Helper()
		return strings.Fields(run(words, "add", words))[0]
	}
	tea, mug, shelf := added("User drinks oolong tea"), added("User has a blue mug"), added("The mug stands on the kitchen shelf")
	run("this fact has no relations", "relate", tea)
	before := time.Now().Format(time.RFC3339Nano)
	run(tea+" follows "+mug+"\nto undo this: loci undo", "relate", tea, "follows", mug)
	run("this relation exists already", "relate", tea, "follows", mug)
	run("refines", "relate", shelf, "refines", mug)
	if out := run("it follows "+mug+"  User has a blue mug", "relate", tea); strings.Contains(out, "shelf") {
		t.Errorf("one step away is %q", out)
	}
	run("shelf refines "+mug, "relate", tea, "--steps", "2")
	run(tea+"  User drinks oolong tea follows it", "relate", mug)
	run("this fact has no relations", "relate", tea, "--as-of", before)
	var found client.RelatedMemories
	if err := json.Unmarshal([]byte(run("", "relate", mug, "--json")), &found); err != nil || len(found.Memories) != 2 || len(found.Relations) != 2 {
		t.Errorf("as JSON: %+v %v", found, err)
	}
	if out := run("there are more relations", "relate", mug, "--limit", "1"); strings.Count(out, "\n") != 2 {
		t.Errorf("one of two: %q", out)
	}
	_, undo, _ := strings.Cut(run("relation removed", "relate", tea, "follows", mug, "--end"), "loci ")
	run("this fact has no relations", "relate", tea)
	run("", strings.Fields(undo)...)
	run("it follows", "relate", tea)

	for _, args := range [][]string{
		{"relate"}, {"relate", tea, "follows"}, {"relate", tea, "likes", mug}, {"relate", "", "follows", mug}, {"relate", tea, "--end"},
		{"relate", tea, "follows", tea}, {"relate", tea, "--steps", "6"},
	} {
		if out, err := tryAt(t, data, "sqlite", args...); !errors.Is(err, memory.Invalid) {
			t.Errorf("loci %q: %q %v, want that it is invalid", args, out, err)
		}
	}
	if _, err := tryAt(t, data, "sqlite", "relate", tea, "follows", "nothing"); !errors.Is(err, memory.NotFound) {
		t.Errorf("related to nothing: %v", err)
	}
}

func TestWhatHasSomethingInCommonIsForgotten(t *testing.T) {
	data := t.TempDir()
	run := wanting(t, data)
	run("", "add", "User sails a dinghy", "--tag", "sport")
	run("", "add", "User runs ten miles", "--tag", "sport")
	run("", "add", "User bakes rye bread", "--tag", "kitchen")
	if out := run("would forget fact", "forget", "--tag", "sport"); !strings.Contains(out, "--yes") || strings.Contains(out, "rye") {
		t.Errorf("what would go is %q", out)
	}
	run("dinghy", "list")
	run("to undo this", "forget", "--tag", "sport", "--text", "dinghy", "--yes")
	if out := run("ten miles", "list"); strings.Contains(out, "dinghy") {
		t.Errorf("there still is %q", out)
	}
	run("no memories match", "forget", "--tag", "sport", "--kind", "turn,summary", "--yes")
	run("the text is erased permanently", "forget", "--tag", "sport", "--erase", "--yes")
	if out := run("rye", "list", "--status", "all"); strings.Contains(out, "dinghy") || strings.Contains(out, "miles") {
		t.Errorf("there still is %q", out)
	}
	for _, args := range [][]string{
		{"forget"}, {"forget", "bread", "--tag", "kitchen"}, {"forget", "--id", "a", "--tag", "kitchen"}, {"forget", "--kind", "fact"}, {"forget", "bread", "--kind", "fact"},
		{"forget", "--tag", "kitchen", "--kind", "bread"},
	} {
		if out, err := tryAt(t, data, "sqlite", args...); !errors.Is(err, memory.Invalid) {
			t.Errorf("loci %q: %q %v, want that it is invalid", args, out, err)
		}
	}
}
