package web

import (
	"net/http"
	"slices"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/engine/vectors"
	"github.com/loci-memory/loci/memory"
)

// jobsView is work that is under way, waiting or parked.
type jobsView struct {
	Here    string
	Jobs    []client.Job
	Vectors vectors.Vectors // while a job gives them, or where they were asked for
	Counted bool            // they were
}

// Done is how many memories have a vector of the embedder.
func (v jobsView) Done() int { return v.Vectors.Memories - v.Vectors.Lacking }

// Share is how many of all that is, 0 to 1.
func (v jobsView) Share() float64 { return float64(v.Done()) / float64(max(1, v.Vectors.Memories)) }

func (p *Page) jobs(r *http.Request, v visit) (any, error) {
	jobs, err := p.engine.Lessons.Jobs(r.Context(), v.owner)
	if err != nil {
		return nil, err
	}
	view := jobsView{Here: here(r)}
	for _, j := range jobs {
		view.Jobs = append(view.Jobs, client.ViewJob(j))
	}
	view.Counted = r.FormValue("vectors") != ""
	if view.Counted || slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Kind == memory.JobEmbed }) { // it looks at everything
		view.Vectors, err = p.engine.Vectors.Vectors(r.Context(), v.owner)
	}
	return view, err
}

// retry lets a parked job run again.
func (p *Page) retry(r *http.Request, v visit) (done, error) {
	return done{Say: "It is tried again."}, p.engine.Curate.RetryJob(r.Context(), v.owner, v.id)
}

// embed queues the job that gives memories the vectors that they lack.
func (p *Page) embed(r *http.Request, v visit) (done, error) {
	is, err := p.engine.Vectors.Reembed(r.Context(), v.owner, false, "")
	if err != nil {
		return done{}, err
	}
	if is.Lacking == 0 {
		return done{Say: "No memory lacks a vector."}, nil
	}
	return done{Say: plural(is.Lacking, "memory") + " get vectors now."}, nil
}
