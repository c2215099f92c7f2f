package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// A refusal of the API says what is wrong and where: "expected number <= 500 (query.limit: 900)".
var (
	refused  = lazy.Compile(`^(.*?) \((?:query|body)\.([\w.\[\]-]+)(?:: .*)?\)$`)
	bounds   = strings.NewReplacer("expected number <= ", "at most ", "expected number >= ", "at least ", "expected length <= ", "its length is at most ")
	refusals = "validation failed; " // which a list of such begins with
)

// inFlags says what is wrong with a request in the words of the command line that it was
// made of, where a flag was given for it.
func inFlags(cmd *cobra.Command, err error) error {
	if !errors.Is(err, memory.Invalid) {
		return err
	}
	told := err.Error()
	parts := strings.Split(strings.TrimPrefix(told, refusals), "; ")
	for i, part := range parts {
		if at := refused.FindStringSubmatch(part); at != nil {
			if flag, value := flagOf(cmd, at[2]); flag != "" {
				parts[i] = flag + " " + value + ": " + bounds.Replace(at[1])
			}
		} else if name, wrong, ok := strings.Cut(part, ": "); ok && i == 0 {
			if flag, _ := flagOf(cmd, name); flag != "" {
				parts[i] = flag + ": " + wrong
			}
		}
	}
	now := strings.Join(parts, "; ")
	if now == strings.TrimPrefix(told, refusals) {
		return err
	}
	return memory.Errorf(memory.Invalid, "%s", now)
}

// flagOf returns the flag that was given for a field of a request and its value, "" where
// none was.
func flagOf(cmd *cobra.Command, field string) (flag, value string) {
	field = field[strings.LastIndexByte(field, '.')+1:]
	field, _, _ = strings.Cut(field, "[")
	name := strings.ReplaceAll(field, "_", "-")
	if name == "q" {
		name = "text"
	}
	for _, name := range []string{name, strings.TrimSuffix(name, "s")} { // a flag that may be repeated names one
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return "--" + f.Name, brief(strings.Trim(f.Value.String(), "[]"), 60)
		}
	}
	return "", ""
}
