package vaultsync

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci/internal/engine/share"
	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// Files are committed once they were unchanged for commitDelay, so that a chat's changes are in one
// commit. A commit may take up to gitTimeout.
const (
	commitDelay = 2 * time.Second
	gitTimeout  = time.Minute
)

// vaultGit commits a vault's files to git. Failures of git are logged and do not affect memory.
type vaultGit struct {
	store          *vaultstore.Store
	log            *slog.Logger
	hasFirstCommit bool      // whether the vault's files were committed at least once
	committedUntil time.Time // time of the last memory change that a commit lists; zero for none
}

func newVaultGit(store *vaultstore.Store, log *slog.Logger) *vaultGit {
	return &vaultGit{store: store, log: log}
}

// run commits changes until ctx ends, and then the remaining changes.
func (g *vaultGit) run(ctx context.Context) {
	lasting := context.WithoutCancel(ctx) // killing git would leave its lock files
	if !g.hasFirstCommit {                // the first commit failed at the start
		if err := g.Init(lasting); err != nil {
			g.log.Warn("the vault cannot be committed to git", "err", err)
			return
		}
	}
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-g.store.Written():
			ended = !g.waitUntilUnchanged(ctx)
		}
		if err := g.Commit(lasting); err != nil {
			g.log.Warn("committing the vault to git failed; the next change repeats it", "err", err)
		}
	}
}

// waitUntilUnchanged waits until nothing was written for commitDelay; false means that ctx ended.
func (g *vaultGit) waitUntilUnchanged(ctx context.Context) bool {
	lull := time.NewTimer(commitDelay)
	defer lull.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-g.store.Written():
			lull.Reset(commitDelay)
		case <-lull.C:
			return true
		}
	}
}

// Init makes the vault a git repository unless it is in a repository, and commits its content
// before Loci changes anything.
func (g *vaultGit) Init(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("install git, or turn off vault_git: %w", err)
	}
	if err := os.WriteFile(filepath.Join(g.store.Dir(), vaultstore.OwnFolder, ".gitignore"), []byte("*\n"), 0o600); err != nil { // git ignores the folder, which is only for this machine
		return err
	}
	_, err := g.runGit(ctx, "rev-parse", "--git-dir")
	isNew := err != nil
	if isNew {
		if _, err := g.runGit(ctx, "init", "--quiet"); err != nil {
			return err
		}
	}
	last, err := g.runGit(ctx, "log", "-1", "--grep=^"+untilTrailer, "--format=%(trailers:key="+untilTrailer+",valueonly)", "--", ".")
	if err == nil && last != "" {
		g.hasFirstCommit = true
		g.committedUntil, err = time.Parse(time.RFC3339Nano, last)
		return err
	}
	if err := g.Commit(ctx); err != nil || g.hasFirstCommit {
		return err
	}
	if isNew { // the vault is empty, so the first commit is too
		return g.commitWithMessage(ctx, FirstCommit, time.Time{}, "--allow-empty")
	}
	g.hasFirstCommit = true
	return nil
}

// FirstCommit is the message of a vault's first commit.
const FirstCommit = "begin the vault"

// untilTrailer is the trailer of a commit message with the time of the last memory change in the message.
const untilTrailer = "Loci-Until"

// Commit commits the vault's files that changed since the last commit.
func (g *vaultGit) Commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	if err := g.store.Flush(ctx); err != nil {
		return err
	}
	if unmerged, err := g.runGit(ctx, "ls-files", "--unmerged"); err != nil || unmerged != "" {
		return err // wait until the person completes the merge, which git add would mark as resolved
	}
	if _, err := g.runGit(ctx, "add", "--all", "--", "."); err != nil {
		return err
	}
	staged, err := g.runGit(ctx, "diff", "--cached", "--name-only", "--", ".")
	if err != nil || staged == "" {
		return err
	}
	message, until, err := g.commitMessage(ctx)
	if err != nil {
		return err
	}
	return g.commitWithMessage(ctx, message, until, "--", ".")
}

// commitWithMessage runs git commit. listedUntil is the time of the last memory change in the message.
func (g *vaultGit) commitWithMessage(ctx context.Context, message string, listedUntil time.Time, gitArgs ...string) error {
	args := append([]string{"commit", "--quiet", "--no-verify", "--message", message, "--message", untilTrailer + ": " + listedUntil.Format(time.RFC3339Nano)}, gitArgs...)
	if name, _ := g.runGit(ctx, "config", "user.email"); name == "" {
		args = append([]string{"-c", "user.name=Loci", "-c", "user.email=loci@localhost"}, args...)
	}
	if _, err := g.runGit(ctx, args...); err != nil {
		return err
	}
	g.hasFirstCommit, g.committedUntil = true, listedUntil
	return nil
}

// runGit runs git in the vault and returns its output.
func (g *vaultGit) runGit(ctx context.Context, args ...string) (string, error) {
	return RunGit(ctx, g.store.Dir(), args...)
}

// RunGit runs git in a folder and returns its output.
func RunGit(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "commit.gpgSign=false", "-c", "core.quotePath=false"}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), redirectsGit), "GIT_TERMINAL_PROMPT=0")
	var out, output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(output.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// redirectsGit reports whether an environment variable points git to another repository. Git sets
// these variables for programs that it starts.
func redirectsGit(variable string) bool {
	for _, name := range []string{"GIT_DIR=", "GIT_INDEX_FILE=", "GIT_WORK_TREE="} {
		if strings.HasPrefix(variable, name) {
			return true
		}
	}
	return false
}

const maxListedChanges = 20

// commitMessage returns a commit message that lists the memory changes since the last commit, oldest first,
// and the time of the last change.
func (g *vaultGit) commitMessage(ctx context.Context) (string, time.Time, error) {
	var lines []string
	until := g.committedUntil
	for _, owner := range g.store.OwnersWithFiles() {
		page, err := g.store.Changes(ctx, owner, memory.ChangeQuery{After: g.committedUntil, Limit: 500})
		if err != nil {
			return "", until, err
		}
		for _, c := range slices.Backward(page.Changes) {
			if c.At.After(until) {
				until = c.At
			}
			if line := ChangeLine(c, page.Changes); line != "" {
				lines = append(lines, line)
			}
		}
	}
	switch {
	case !g.hasFirstCommit:
		return FirstCommit, until, nil
	case len(lines) == 0:
		return "follow the chats", until, nil
	case len(lines) == 1:
		return lines[0], until, nil
	}
	subject := fmt.Sprintf("%s, and %d more", lines[0], len(lines)-1)
	if len(lines) > maxListedChanges {
		lines = append(lines[:maxListedChanges], "…")
	}
	return subject + "\n\n" + strings.Join(lines, "\n"), until, nil
}

// ChangeLine describes a change in one line; "" if another change of its run describes it.
func ChangeLine(c memory.Change, changes []memory.Change) string {
	f := c.After.Fact
	switch {
	case c.After.Summary != nil && c.Action == memory.ActionAdd:
		return "summed up: " + oneLine(c.After.Summary.Text)
	case c.After.Profile != nil && share.IsShareKey(c.After.Profile.Key):
		return oneLine(c.Reason + ": " + c.NewID)
	case c.After.Profile != nil:
		return "profile: " + oneLine(c.After.Profile.Key+" is "+c.After.Profile.Value)
	case f == nil:
		return ""
	}
	text := oneLine(cmp.Or(f.Content, f.ID))
	other := func(id string) string { // text of the replaced or replacing fact of the same run
		for _, o := range changes {
			if o.Run == c.Run && o.After.Fact != nil && o.After.Fact.ID == id && id != f.ID {
				return oneLine(o.After.Fact.Content)
			}
		}
		return ""
	}
	if c.Action == memory.ActionReplace {
		if other(c.NewID) != "" {
			return ""
		}
		return "no longer: " + text
	}
	verb := verbForAction[c.Action]
	if c.Action == memory.ActionAdd && c.Author.Kind == memory.ByPerson {
		verb = "written"
	}
	if verb == "" {
		return ""
	}
	if old := other(c.OldID); old != "" {
		text += " (replaces " + old + ")"
	}
	return verb + ": " + text
}

var verbForAction = map[memory.Action]string{
	memory.ActionAdd: "learned", memory.ActionUpdate: "edited", memory.ActionReinforce: "said again", memory.ActionRetire: "forgotten",
	memory.ActionRestore: "restored", memory.ActionApprove: "approved", memory.ActionReject: "rejected", memory.ActionUndo: "undone",
	memory.ActionErase: "erased",
}

// oneLine returns a text as one line of a commit message: shortened, and without control characters, which
// would change the terminal of a person who reads the log.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return s
}
