package storetest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// drawStep draws one step of a random history: a few related script lines. Ids and texts come from small
// sets, so that the steps affect each other. $n in a line is the step's number in the history.
func drawStep(t *rapid.T) []string {
	if rapid.IntRange(0, 20).Draw(t, "steps") == 0 { // package rapid shrinks a step to nil
		return nil
	}
	owner := pickWord(t, "ana", "ben")
	steps := []string{"wait " + pickWord(t, "0s", "0s", "1us", "1s", "1h", "-1m")}
	switch pickWord(t, "apply", "apply", "apply", "append", "append", "queue", "queue", "read") {
	case "apply":
		return append(steps, drawApply(t, owner)...)
	case "append":
		return append(steps, drawAppend(t, owner))
	case "queue":
		return append(steps, drawQueue(t, owner))
	}
	return append(steps, drawRead(t, owner))
}

func pickWord(t *rapid.T, words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }

// oneIn returns text() with a probability of 1/n, otherwise "".
func oneIn(t *rapid.T, n int, text func() string) string {
	if rapid.IntRange(1, n).Draw(t, "chance") < n {
		return ""
	}
	return text()
}

func drawIndex(t *rapid.T) int { return rapid.IntRange(0, 4).Draw(t, "which") }

func drawText(t *rapid.T) string {
	return pickWord(t, `"Ana lives in Berlin"`, `"Ana LIVES in Łódź"`, `"100% of plan_b"`, `""`)
}

func drawTurnID(t *rapid.T) string { return fmt.Sprint("t", drawIndex(t)) }

func drawJobID(t *rapid.T) string { return pickWord(t, "a", "b", "c") }

func drawLeaseLabel(t *rapid.T) string {
	return pickWord(t, "last", "last", "last", "last", "last", drawJobID(t))
}

// drawApply draws a step that applies a run, and sometimes steps that undo the run immediately.
func drawApply(t *rapid.T, owner string) []string {
	var clauses []string
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		clauses = append(clauses, drawChange(t))
	}
	for _, clause := range []string{
		oneIn(t, 4, func() string { return fmt.Sprintf("vector f%d %s", drawIndex(t), drawText(t)) }),
		oneIn(t, 4, func() string { return fmt.Sprintf("vector %s %s", drawTurnID(t), drawText(t)) }),
		oneIn(t, 2, func() string { return "job " + drawJobID(t) + " kind=" + pickWord(t, "learn", "embed") }),
	} {
		if clause != "" {
			clauses = append(clauses, clause)
		}
	}
	run := oneIn(t, 6, func() string { return " lease=" + drawLeaseLabel(t) })
	work := func(args string) string { return "apply " + owner + run + args + ": " + strings.Join(clauses, "; ") }
	if oneIn(t, 4, func() string { return "undone" }) != "" {
		return []string{
			"remember " + owner + " as=before", work(" as=undone$n"),
			"undo " + owner + " limit=500 run=undone$n", "compare " + owner + " before active",
		}
	}
	return []string{work(pickWord(t, "", "", "", " as=again") + oneIn(t, 5, func() string { return " learned=" + drawTurnID(t) }))}
}

// drawChange draws a change. An action with a question mark is replaced by another action when the script
// runs, if it does not fit the target's state.
func drawChange(t *rapid.T) string {
	fits := "?"
	if rapid.IntRange(0, 7).Draw(t, "fits") == 7 {
		fits = ""
	}
	base := pickWord(t, "", "", "", " base=same", " base=same", " base=same", " base=next")
	action := func(extraActions ...string) string {
		return pickWord(t, append(extraActions, "add", "add", "update", "retire", "restore")...) + fits
	}
	status := " status=" + pickWord(t, "active", "active", "retired") + base
	n, words := drawIndex(t), drawText(t)
	switch pickWord(t, "fact", "fact", "fact", "link", "profile", "relation", "summary", "turn", "context", "conversation") {
	case "link":
		return fmt.Sprintf("%s link:l%d%s", action("link", "link", "unlink"), n, status)
	case "profile":
		return fmt.Sprintf("%s profile:key%d %s%s", action(), n, words, status)
	case "relation":
		return fmt.Sprintf("%s relation:f%d:f%d:refines%s", action(), n, drawIndex(t), status)
	case "summary":
		return fmt.Sprintf("%s summary:s%d %s scope.conversation=%s%s", action(), n, words, pickWord(t, "c", "d"), status)
	case "turn":
		return fmt.Sprintf("%s turn:t%d status=%s%s", pickWord(t, "update", "retire", "restore")+fits, n, pickWord(t, "active", "active", "retired", "replaced"), base)
	case "context":
		return fmt.Sprintf("%s context:x%d %s title=%d%s", action(), n, words, n, status)
	case "conversation":
		return fmt.Sprintf("%s conversation:%s title=%s contexts=%s rules=%s%s", pickWord(t, "update", "retire", "restore")+fits, pickWord(t, "c", "d"), words, pickWord(t, "", "x|y"), words, status)
	}
	if oneIn(t, 8, func() string { return "replace" }) != "" {
		return fmt.Sprintf("replace%s fact:f%d f%d %s", fits, n, 5+drawIndex(t), words)
	}
	return fmt.Sprintf("%s fact:f%d %s status=%s scope.project=%s created_at=+%dh valid_from=-%dh provenance.conversation=%s%s",
		action("add", "reinforce", "undo"), n, words, pickWord(t, "active", "active", "active", "pending", "superseded", "retired"),
		pickWord(t, "", "", "p"), n/2, 8760*rapid.IntRange(0, 2).Draw(t, "years"), pickWord(t, "c", "d"), base)
}

func drawAppend(t *rapid.T, owner string) string {
	first := drawIndex(t)
	step := fmt.Sprintf("append %s %s from=%d title=%s updated_at=+%dm", owner, pickWord(t, "c", "d"), first, pickWord(t, "", "title"), first)
	var clauses, path []string
	for i := range rapid.IntRange(0, 2).Draw(t, "turns") {
		id := fmt.Sprint("t", first+i)
		clauses, path = append(clauses, "turn "+id+" "+drawText(t)), append(path, id)
	}
	if oneIn(t, 3, func() string { return "marked" }) != "" {
		step += " run=" + pickWord(t, "mark", "again")
		clauses = append(clauses, fmt.Sprintf("update? turn:%s status=%s", drawTurnID(t), pickWord(t, "active", "replaced")))
	}
	for _, clause := range []string{
		oneIn(t, 2, func() string { return "vector " + drawTurnID(t) + " " + drawText(t) }),
		oneIn(t, 2, func() string { return "job " + drawJobID(t) + " turns=" + drawTurnID(t) }),
		oneIn(t, 3, func() string {
			return fmt.Sprintf("path %s after=t%d from=%d", strings.Join(path, " "), first-1, first)
		}),
	} {
		if clause != "" {
			clauses = append(clauses, clause)
		}
	}
	return step + ": " + strings.Join(clauses, "; ")
}

func drawQueue(t *rapid.T, owner string) string {
	switch pickWord(t, "claim", "claim", "claim", "claim", "extend", "finish", "finish", "requeue") {
	case "claim":
		return "claim " + pickWord(t, "learn", "embed", "learn|embed") + " " + pickWord(t, "24h", "24h", "1s") + " as=last"
	case "extend":
		return "extend " + drawLeaseLabel(t) + " " + pickWord(t, "24h", "1s")
	case "finish":
		return "finish " + drawLeaseLabel(t) + " " + pickWord(t, "done=true", "cause=no", "park=true cause=never", "retry_at=+1m", "deferred=true retry_at=+1m")
	}
	return "requeue " + owner + " " + drawJobID(t)
}

func drawRead(t *rapid.T, owner string) string {
	asOf := pickWord(t, "", "", "+0s", "+1s", "+1h")
	statuses := pickWord(t, "", "", "retired", "active|pending|replaced")
	switch pickWord(t, "list", "list", "turns", "changes", "since") {
	case "list":
		return fmt.Sprintf("list %s kinds=%s statuses=%s project=%s conversation=%s text=%s at.as_of=%s at.valid_at=%s", owner,
			pickWord(t, "", "fact|turn|summary", "turn"), statuses, pickWord(t, "", "", "p"), pickWord(t, "", "", "c"),
			pickWord(t, "", "", "ana", "łódź", "%", "_"), asOf, pickWord(t, "", "", "-8760h", "+8760h"))
	case "turns":
		return fmt.Sprintf("turns %s conversation=%s unlearned=%s statuses=%s as_of=%s last=%s", owner,
			pickWord(t, "", "c"), pickWord(t, "false", "true"), statuses, asOf, pickWord(t, "0", "1", "2"))
	case "changes":
		return fmt.Sprintf("changes %s fact=%s action=%s after=%s", owner, pickWord(t, "", "f0", "f1"), pickWord(t, "", "add"), asOf)
	}
	return fmt.Sprintf("since %s %d", owner, rapid.IntRange(0, 12).Draw(t, "after"))
}
