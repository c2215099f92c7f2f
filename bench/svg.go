package main

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
)

// The picture's measures, in pixels.
const (
	svgWidth   = 820
	svgLabels  = 250 // at the left: what each strip is
	svgRight   = 30
	svgTop     = 74
	svgStrip   = 54 // from one strip to the next
	svgHighest = 40 // of a bar
	svgBottom  = 52
)

// svgStyle follows the reader's choice of light or dark. The two colours are told
// apart by those who see red and green alike.
const svgStyle = `
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px; fill: #57606a }
.grid { stroke: #d0d7de }
.paper { fill: #ffffff }
.own { fill: #0969da }
.other { fill: #8c959f }
.middle { stroke: #cf5c00; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .paper { fill: #0d1117 }
  .own { fill: #58a6ff }
  .other { fill: #7d8590 }
  .middle { stroke: #ffa657 }
}
`

// WriteHistograms draws how long recall took as an SVG picture: a strip for each
// row that has times of single requests, of the parts rivals or, without, recall.
// The axis is logarithmic; the bars of a strip are relative to its highest.
func WriteHistograms(w io.Writer, title string, rows []Row) error {
	shown := histogramRows(rows)
	var b strings.Builder
	height := svgTop + len(shown)*svgStrip + svgBottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`, svgWidth, height, svgWidth, height)
	fmt.Fprintf(&b, "\n<title id=\"title\">%s</title>\n<style>%s</style>\n", html.EscapeString(title), svgStyle)
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<text class="title" x="16" y="28">%s</text>`+"\n", html.EscapeString(title))
	fmt.Fprintf(&b, `<text class="small" x="16" y="48">Time of one request, logarithmic. Bars: share of the requests, by strip. Orange line: p50.</text>`+"\n")
	axis := axisOf(shown)
	axis.draw(&b, height-svgBottom)
	for i, r := range shown {
		axis.strip(&b, r, svgTop+(i+1)*svgStrip-8)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// histogramRows chooses what is drawn.
func histogramRows(rows []Row) []Row {
	for _, subject := range []string{"rivals", "recall"} {
		var out []Row
		for _, r := range rows {
			if r.Subject == subject && len(r.took) > 0 && !strings.HasPrefix(r.Name, "add ") {
				out = append(out, r)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// logAxis is the horizontal axis, in buckets; both ends are powers of ten.
type logAxis struct{ from, to int }

func axisOf(rows []Row) logAxis {
	if len(rows) == 0 {
		return logAxis{0, 4 * perDecade}
	}
	var ends []int
	for _, r := range rows {
		ends = append(ends, bucketOf(r.took[0]), bucketOf(r.took[len(r.took)-1])+1)
	}
	from, to := slices.Min(ends), slices.Max(ends)
	return logAxis{from / perDecade * perDecade, (to + perDecade - 1) / perDecade * perDecade}
}

// at returns where a bucket begins on the picture.
func (a logAxis) at(bucket float64) float64 {
	return svgLabels + (bucket-float64(a.from))/float64(a.to-a.from)*(svgWidth-svgLabels-svgRight)
}

// draw draws the lines of the powers of ten, and what they are.
func (a logAxis) draw(b *strings.Builder, bottom int) {
	for tick := a.from; tick <= a.to; tick += perDecade {
		x := a.at(float64(tick))
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, svgTop-10, x, bottom)
		fmt.Fprintf(b, `<text class="small" text-anchor="middle" x="%.1f" y="%d">%s</text>`+"\n", x, bottom+18, short(lower(tick)))
	}
}

// strip draws one row's histogram on a base line.
func (a logAxis) strip(b *strings.Builder, r Row, base int) {
	h := histogramOf(r.took)
	class := "other"
	if r.Subject == "recall" || strings.Contains(r.Name, "Loci") {
		class = "own"
	}
	fmt.Fprintf(b, `<text x="16" y="%d">%s</text>`, base-16, html.EscapeString(strings.TrimPrefix(r.Name, "recall, ")))
	fmt.Fprintf(b, `<text class="small" x="16" y="%d">%s · p50 %s · p99 %s</text>`+"\n", base, plural(r.Clients, "client"), short(r.P50), short(r.P99))
	highest := float64(slices.Max(h.counts))
	for i, n := range h.counts {
		x, next := a.at(float64(h.from+i)), a.at(float64(h.from+i+1))
		height := float64(n) / highest * svgHighest
		if n > 0 {
			height = max(height, 1) // one of a thousand is still seen
		}
		fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s to %s: %d of %d</title></rect>`+"\n",
			class, x, float64(base)-height, max(next-x-1, 1), height, short(lower(h.from+i)), short(lower(h.from+i+1)), n, len(r.took))
	}
	p50 := a.at(place(r.P50))
	fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`, svgLabels, base, svgWidth-svgRight, base)
	fmt.Fprintf(b, `<line class="middle" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n", p50, base-svgHighest-2, p50, base)
}

// short writes a time for people: 12 µs, 1.5 ms, 2 s.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", d.Seconds()*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// plural counts things: 1 client, 8 clients.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
