package web

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/memory"
)

// templateFuncs are the functions that templates can call.
func (p *Page) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"age":     func(t time.Time) string { return formatAge(p.engine.Now(), t) },
		"date":    func(t time.Time) string { return t.In(p.Zone).Format("2 Jan 2006") },
		"clock":   func(t time.Time) string { return t.In(p.Zone).Format("2 Jan 2006, 15:04") },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"seg":     url.PathEscape,
		"percent": formatPercent,
		"count":   func(n any) string { return formatCount(toInt(n)) },
		"plural":  func(n any, noun string) string { return plural(toInt(n), noun) },
		"clip":    clip,
		"asset":   func(name string) string { return "/assets/" + name + "?" + p.assets()[name].hash },
		"author":  authorName,
		"acted":   func(a memory.Action) string { return actionNames[a] },
		"args":    func(of ...any) []any { return of },
		"seconds": func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) },
		"under":   func(path, view string) bool { return strings.HasPrefix(path, view+"/") },
		"rest":    func(x float64) float64 { return 1 - x },
		"sharer":  recipientName,
		"score":   func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) },
		"scale":   func(x, to float64) string { return strconv.FormatFloat(math.Round(x*to*10)/10, 'f', -1, 64) },
	}
}

// formatAge formats how long ago a time was, in its largest unit.
func formatAge(now, t time.Time) string {
	const day = 24 * time.Hour
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return "in the future"
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 60*day:
		return plural(int(d/day), "day") + " ago"
	case d < 730*day:
		return plural(int(d/(30*day)), "month") + " ago"
	default:
		return plural(int(d/(365*day)), "year") + " ago"
	}
}

func formatPercent(x float64) string { return strconv.Itoa(int(math.Round(x*100))) + " %" }

// toInt converts a number from a template to an int.
func toInt(n any) int {
	switch n := n.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return n.(int)
}

// plural formats a number with its noun: 1 day, 2 days, 2 memories.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		noun = stem + "rie"
	}
	return formatCount(n) + " " + noun + "s"
}

// formatCount formats a number with separated thousands.
func formatCount(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// clip puts a text on one line and cuts it after maxChars characters.
func clip(maxChars int, s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) <= maxChars {
		return string(runes)
	}
	return strings.TrimSpace(string(runes[:maxChars])) + "…"
}

// authorName describes who made a change.
func authorName(a memory.Author) string {
	switch a.Kind {
	case memory.ByPerson:
		if a.Admin {
			return strings.TrimSuffix("an admin, as "+a.Name, ", as ")
		}
		if a.Name == "" || a.Name == "default" {
			return "you"
		}
		return a.Name
	case memory.ByRule:
		if a.Name == "" || a.Name == "rules" {
			return "the rules"
		}
		if a.Name == "use" { // answers that use a fact raise its confidence
			return "its use"
		}
		return "the rule " + a.Name
	case memory.ByModel:
		return strings.TrimSpace("the model " + a.Name)
	}
	return "somebody"
}

// actionNames say in a history what an action did to a memory.
var actionNames = map[memory.Action]string{
	memory.ActionAdd: "added", memory.ActionUpdate: "edited", memory.ActionReinforce: "said again",
	memory.ActionReplace: "replaced", memory.ActionRetire: "forgotten", memory.ActionRestore: "restored",
	memory.ActionApprove: "approved", memory.ActionReject: "rejected", memory.ActionLink: "linked",
	memory.ActionUnlink: "unlinked", memory.ActionUndo: "undone", memory.ActionErase: "erased",
}
