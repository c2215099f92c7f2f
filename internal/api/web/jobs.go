package web

import (
	"net/http"
	"slices"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/memory"
)

// jobsView lists the jobs that are running, waiting or parked.
type jobsView struct {
	Here    string // path and query of this view
	Jobs    []client.Job
	Vectors vectors.EmbedProgress // counts of vectors, while a job computes vectors or if the user asked for the counts
	Counted bool                  // the user asked for the counts
}

// Done is the number of memories that have a vector of the current embedder.
func (v jobsView) Done() int { return v.Vectors.Memories - v.Vectors.Lacking }

// Share is the share of memories that have a vector of the current embedder, 0 to 1.
func (v jobsView) Share() float64 { return float64(v.Done()) / float64(max(1, v.Vectors.Memories)) }

func (p *Page) jobsView(r *http.Request, v visit) (any, error) {
	jobs, err := p.engine.Lessons.Jobs(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view := jobsView{Here: viewURL(r)}
	for _, j := range jobs {
		view.Jobs = append(view.Jobs, client.ViewJob(j))
	}
	view.Counted = r.FormValue("vectors") != ""
	if view.Counted || slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Kind == memory.JobEmbed }) { // counting reads all memories
		view.Vectors, err = p.engine.Vectors.Progress(r.Context(), v.owner)
	}
	return view, err
}

func (p *Page) retryJob(r *http.Request, v visit) (formResult, error) {
	return formResult{Message: "The job will run again."}, p.engine.Curate.RetryJob(r.Context(), v.owner, v.id)
}

// queueEmbedding queues the job that computes missing vectors.
func (p *Page) queueEmbedding(r *http.Request, v visit) (formResult, error) {
	progress, err := p.engine.Vectors.Reembed(r.Context(), v.owner, false, "")
	if err != nil {
		return formResult{}, err
	}
	if progress.Lacking == 0 {
		return formResult{Message: "All memories have vectors."}, nil
	}
	return formResult{Message: plural(progress.Lacking, "memory") + " will get vectors."}, nil
}
