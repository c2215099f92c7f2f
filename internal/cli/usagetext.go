package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/lazy"
)

// explain lets a command and those below it say, where its command line cannot be
// taken, how it is written.
func explain(cmd *cobra.Command) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), lead(cmd), cmd.UsageString())
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		told := err.Error()
		if strings.HasPrefix(told, "unknown") {
			return fmt.Errorf("%w; %s --help lists what there is", err, cmd.CommandPath())
		}
		if flag, ok := strings.CutPrefix(told, "flag needs an argument: "); ok {
			return fmt.Errorf("%s: a value is missing; %s --help says which", flag, cmd.CommandPath())
		}
		if at := wrongValue.FindStringSubmatch(told); at != nil {
			return fmt.Errorf("%s: %s", at[2], plainly(at[1], at[3]))
		}
		return err
	})
	for _, sub := range cmd.Commands() {
		explain(sub)
	}
	takes := cmd.Args
	if takes == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := takes(cmd, args)
		if err == nil || !strings.Contains(err.Error(), "arg(s)") && !strings.HasPrefix(err.Error(), "unknown command") { // cobra's own words
			return err
		}
		what := "there is too much"
		if lacks(func(args []string) error { return takes(cmd, args) }, args) {
			what = "something is missing"
		}
		return fmt.Errorf("%s; it is written: %s", what, cmd.UseLine())
	}
}

// wrongValue is what is said of a flag whose value cannot be read.
var wrongValue = lazy.Compile(`(?s)^invalid argument (".*") for "(?:-\w, )?(--[\w-]+)" flag: (.*)$`)

// plainly says what is wrong with a value without the names of the functions that read it.
func plainly(value, why string) string {
	switch {
	case strings.HasPrefix(why, "strconv.ParseBool"):
		return value + " is neither true nor false"
	case strings.HasPrefix(why, "strconv.") && strings.HasSuffix(why, "value out of range"):
		return value + " is too large a number"
	case strings.HasPrefix(why, "strconv.ParseFloat"):
		return value + " is not a valid number"
	case strings.HasPrefix(why, "strconv."):
		return value + " is not a whole number"
	case strings.HasPrefix(why, "time: "):
		return value + " is not a duration; one looks like 90s, 10m or 2h"
	}
	return why
}

// others are words that people know from other programs for what commands do.
var others = map[string][]string{
	"add": {"remember", "note", "save", "new"}, "search": {"recall", "ask", "find", "query"}, "forget": {"delete", "remove", "rm", "erase"},
	"history": {"show", "get", "log", "view"}, "edit": {"update", "change", "set"}, "list": {"ls", "all"}, "review": {"approve", "reject", "pending"},
	"serve": {"server", "start", "run", "up"}, "models": {"pull"}, "doctor": {"status", "check"}, "undo": {"revert"}, "settings": {"config", "env", "options"},
}

// unknownCommand says in one line what cobra says of a command that there is not in many.
func unknownCommand(told string) string {
	first, meant, _ := strings.Cut(told, "Did you mean this?")
	first = strings.TrimSuffix(strings.TrimSpace(first), ` for "loci"`)
	if words := strings.Fields(meant); len(words) > 0 {
		return first + "; did you mean " + strings.Join(words, ", or ") + "?"
	}
	return first + "; loci --help lists what there is"
}

// lacks reports whether arguments would do with some more.
func lacks(takes func([]string) error, args []string) bool {
	more := slices.Clone(args)
	for range 2 {
		if more = append(more, "more"); takes(more) == nil {
			return true
		}
	}
	return false
}

// lead is what help begins with: what a command does in a line, where its longer words do
// not begin with that, and those.
func lead(cmd *cobra.Command) string {
	words := cmd.Short
	switch {
	case strings.HasPrefix(cmd.Long, cmd.Short):
		words = cmd.Long
	case cmd.Long != "":
		words += ".\n\n" + cmd.Long
	}
	return strings.TrimSpace(words) + "\n\n"
}
