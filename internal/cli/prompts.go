package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/prompt"
	"github.com/loci-memory/loci/memory"
)

func newPromptsCommand(g *sharedState) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prompts",
		Short: "Show and change the prompts that Loci sends to models",
		Long: "Each prompt is a Markdown file. Files of the same name in the folder of the setting prompts replace the built-in prompts.\n" +
			"These commands need no server.",
		Example: "  loci prompts list\n  loci prompts show extract\n  loci prompts eject ./prompts\n  loci prompts check ./prompts",
	}
	for _, sub := range []*cobra.Command{newPromptsListCommand(g), newPromptsShowCommand(g), newPromptsEjectCommand(g), newPromptsCheckCommand(g)} {
		sub.Flags().BoolVar(&g.asJSON, "json", false, "print JSON for programs")
		cmd.AddCommand(sub)
	}
	return cmd
}

// promptsInUse returns the prompts in use, sorted by name.
func (g *sharedState) promptsInUse(cmd *cobra.Command) ([]prompt.File, error) {
	config, err := g.loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	set, err := openPrompts(config.Prompts)
	if err != nil {
		return nil, err
	}
	chats := cmp.Or(config.Chats.Model, config.Learn.Model)
	return set.ForModels(prompt.Models{Learn: config.Learn.Model, Query: chats, Chats: chats}).Files(config.Prompts), nil
}

func openPrompts(dir string) (*prompt.Set, error) {
	if dir == "" {
		return prompt.Default(), nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, memory.Errorf(memory.Invalid, "prompts: %q is not a folder; loci prompts eject %s creates it", dir, dir)
	}
	return prompt.Open(os.DirFS(dir))
}

func newPromptsListCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the prompts in use, with hash, source file and placeholders",
		Example: "  loci prompts list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := g.promptsInUse(cmd)
			if err != nil {
				return err
			}
			for i := range all {
				all[i].Source = ""
			}
			return g.print(cmd.OutOrStdout(), all, func(out printer) { out.printPrompts(all) })
		},
	}
}

func (s printer) printPrompts(files []prompt.File) {
	for _, p := range files {
		s.line("%-12s %s  %s", s.styled(bold, p.Name), p.Hash, cmp.Or(p.Path, "built in"))
		s.line("             %s", shorten(p.Purpose, 160))
		s.line("             %s", strings.Join(p.Placeholders, " "))
		if len(p.Variants) > 0 {
			s.line("             variants for %s", strings.Join(p.Variants, ", "))
		}
	}
}

func newPromptsShowCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the text of a prompt in use",
		Example: "  loci prompts show extract",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := g.promptsInUse(cmd)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(p prompt.File) bool { return p.Name == args[0] })
			if i < 0 {
				return memory.Errorf(memory.Invalid, "there is no prompt %q; valid: %s", args[0], strings.Join(prompt.Names(), ", "))
			}
			return g.print(cmd.OutOrStdout(), all[i], func(out printer) { fmt.Fprint(out, all[i].Source) })
		},
	}
}

func newPromptsEjectCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:   "eject [DIR]",
		Short: "Copy the built-in prompts into a folder, where you can change them",
		Long: "Copy the built-in prompts into DIR (default: the folder of the setting prompts, or the folder prompts in the data folder).\n" +
			"Existing files are not changed.",
		Example: "  loci prompts eject ./prompts\n  loci serve --set prompts=./prompts",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			dir, err := ejectFolder(config, args)
			if err != nil {
				return err
			}
			return printAnswer(g, cmd, func(out printer, result ejectResult) {
				for _, f := range result.Written {
					fmt.Fprintf(out, "wrote %s\n", f)
				}
				for _, f := range result.Unchanged {
					fmt.Fprintf(out, "%s exists and was not changed\n", f)
				}
				if config.Prompts != dir {
					fmt.Fprintf(out, "to use them: loci serve --set prompts=%s\n", dir)
				}
			})(ejectPrompts(dir))
		},
	}
}

// ejectFolder returns the folder into which loci prompts eject writes the prompts.
func ejectFolder(cfg config.Config, args []string) (string, error) {
	switch {
	case len(args) > 0 && args[0] == "":
		return "", memory.Errorf(memory.Invalid, "the folder's name is empty")
	case len(args) > 0:
		return args[0], nil
	case cfg.Prompts != "":
		return cfg.Prompts, nil
	}
	data, err := cfg.DataDir()
	return filepath.Join(data, "prompts"), err
}

// ejectResult lists the written files, and existing files that were not changed.
type ejectResult struct {
	Written   []string `json:"wrote"`
	Unchanged []string `json:"kept"`
}

func ejectPrompts(dir string) (result ejectResult, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ejectResult{}, fmt.Errorf("create the folder: %w", err)
	}
	for _, p := range prompt.Default().Files("") {
		file := filepath.Join(dir, p.Name+".md")
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			result.Unchanged = append(result.Unchanged, file)
			continue
		}
		if err == nil {
			_, err = f.WriteString(p.Source)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return result, fmt.Errorf("write a prompt: %w", err)
		}
		result.Written = append(result.Written, file)
	}
	return result, nil
}

func newPromptsCheckCommand(g *sharedState) *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIR]",
		Short: "Check a folder of prompts and list errors by file and line",
		Long: "Check the prompts in DIR (default: the folder of the setting prompts) like a server start: parse each prompt and fill it in once.\n" +
			"Errors are printed as FILE:LINE: …. The exit status is 2 after an error.",
		Example: "  loci prompts check ./prompts",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := g.loadConfig(cmd)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				config.Prompts = args[0]
			}
			if config.Prompts == "" {
				return memory.Errorf(memory.Invalid, "give a folder, or configure one in the setting prompts")
			}
			_, promptsErr := openPrompts(config.Prompts)
			found := struct {
				Errors []string `json:"wrong"`
			}{[]string{}}
			if promptsErr != nil {
				found.Errors = strings.Split(promptsErr.Error(), "\n")
				promptsErr = memory.Errorf(memory.Invalid, "%s: the server would not start with these prompts", config.Prompts)
			}
			return errors.Join(g.print(cmd.OutOrStdout(), found, func(out printer) {
				for _, problem := range found.Errors {
					out.line("%s", filepath.Join(config.Prompts, problem)) // each error begins with a file name
				}
				if len(found.Errors) == 0 {
					out.line("%s: no errors", config.Prompts)
				}
			}), promptsErr)
		},
	}
}
