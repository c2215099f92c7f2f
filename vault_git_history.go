package loci

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/store/markdown"
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
		which = markdown.FilesOf(id)
	}
	out, err := gitIn(ctx, dir, "log", "--max-count="+strconv.Itoa(limit), "--no-renames", "--relative",
		"--name-status", "--format=%x1e%H%x1f%aI%x1f%an%x1f%B%x1f", "--", which)
	if err != nil {
		return nil, memory.Errorf(memory.NotFound, "no history of %s in git (with vault_git: true Loci makes one): %w", dir, err)
	}
	commits := []GitCommit{}
	for _, text := range strings.Split(out, "\x1e")[1:] {
		parts := strings.SplitN(text, "\x1f", 5)
		if len(parts) < 5 {
			return nil, fmt.Errorf("git log wrote %q", text)
		}
		c := GitCommit{Hash: parts[0], Author: parts[2], Message: strings.TrimSpace(parts[3])}
		if c.At, err = time.Parse(time.RFC3339, parts[1]); err != nil {
			return nil, fmt.Errorf("read the time of commit %s: %w", c.Hash, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(parts[4]), "\n") {
			status, path, ok := strings.Cut(line, "\t")
			if !ok { // a merge names no files
				continue
			}
			f := GitFile{Status: status, Path: path}
			if id != "" && status != "D" {
				said, err := gitIn(ctx, dir, "show", c.Hash+":./"+path)
				if err != nil {
					return nil, err
				}
				f.Words = markdown.WordsOf(said)
			}
			c.Files = append(c.Files, f)
		}
		commits = append(commits, c)
	}
	return commits, nil
}
