package vaultsync

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	vaultstore "github.com/loci-memory/loci/internal/store/vault"
	"github.com/loci-memory/loci/memory"
)

// GitCommit is a commit of a vault.
type GitCommit struct {
	Hash    string    `json:"hash"`
	At      time.Time `json:"at"`
	Author  string    `json:"author"`
	Message string    `json:"message"`
	Files   []GitFile `json:"files,omitempty"`
}

// GitFile is a file that a commit is about.
type GitFile struct {
	Status string `json:"status"`          // as git writes it: A for added, M for modified, D for deleted
	Path   string `json:"path"`            // from the vault's top
	Words  string `json:"words,omitempty"` // what it said from then on, where one memory is asked about
}

// GitHistory reads, newest first, the latest commits of the vault in a folder: all, or with
// an id those about that memory's file and what it said. It asks git alone, so that it
// works where nothing but the files is left. [memory.NotFound]: the folder is in no
// repository, or nothing was committed.
func GitHistory(ctx context.Context, dir, id string, limit int) ([]GitCommit, error) {
	which := "."
	if id != "" {
		which = vaultstore.FilesOf(id)
	}
	out, err := GitIn(ctx, dir, "log", "-z", "--max-count="+strconv.Itoa(limit), "--no-renames", "--relative",
		"--name-status", "--format=%H%x00%aI%x00%an%x00%B", "--", which)
	if err != nil {
		return nil, noHistory(dir, err)
	}
	commits, err := readGitLog(out)
	if err != nil || id == "" {
		return commits, err
	}
	for _, c := range commits {
		for i, f := range c.Files {
			if f.Status == "D" {
				continue
			}
			said, err := GitIn(ctx, dir, "show", c.Hash+":./"+f.Path)
			if err != nil {
				return nil, err
			}
			c.Files[i].Words = vaultstore.WordsOf(said)
		}
	}
	return commits, nil
}

// GitIDs returns the ids that begin so of memories whose files git knows, in order. Errors are
// as of [GitHistory].
func GitIDs(ctx context.Context, dir, start string) ([]string, error) {
	out, err := GitIn(ctx, dir, "log", "-z", "--no-renames", "--relative", "--name-only", "--format=", "--", vaultstore.FilesBeginning(start))
	if err != nil {
		return nil, noHistory(dir, err)
	}
	var ids []string
	for file := range strings.SplitSeq(out, "\x00") {
		if id := vaultstore.IDOf(strings.TrimSpace(file)); strings.HasPrefix(id, start) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func noHistory(dir string, err error) error {
	return memory.Errorf(memory.NotFound, "no history of %s in git (with vault_git: true Loci makes one): %w", dir, err)
}

// readGitLog reads what git log writes with NUL after everything, the one byte that stands
// in no message, name or path: hash, time, author and message of a commit, then status and
// path of each of its files. A status is one letter, a hash is longer.
func readGitLog(out string) ([]GitCommit, error) {
	commits := []GitCommit{}
	for parts := strings.Split(out, "\x00"); len(parts) > 0; {
		first := strings.TrimPrefix(parts[0], "\n")
		switch {
		case first == "" && len(parts) == 1: // after the last NUL
			return commits, nil
		case len(first) == 1 && len(parts) > 1 && len(commits) > 0:
			c := &commits[len(commits)-1]
			c.Files = append(c.Files, GitFile{Status: first, Path: parts[1]})
			parts = parts[2:]
		case len(first) > 1 && len(parts) > 3:
			at, err := time.Parse(time.RFC3339, parts[1])
			if err != nil {
				return nil, fmt.Errorf("read the time of commit %s: %w", first, err)
			}
			commits = append(commits, GitCommit{Hash: first, At: at, Author: parts[2], Message: strings.TrimSpace(parts[3])})
			parts = parts[4:]
		default:
			return nil, fmt.Errorf("git log wrote %q", first)
		}
	}
	return commits, nil
}
