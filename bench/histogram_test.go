package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestBucketsCoverTheAxisWithoutGapOrOverlap(t *testing.T) {
	for bucket := range 8 * perDecade {
		from, to := lower(bucket), lower(bucket+1)
		if from >= to {
			t.Fatalf("bucket %d from %v to %v", bucket, from, to)
		}
		if b := bucketOf(from); b != bucket {
			t.Errorf("%v begins bucket %d and falls into %d", from, bucket, b)
		}
		if b := bucketOf(from + (to-from)/2); b != bucket {
			t.Errorf("the middle of bucket %d falls into %d", bucket, b)
		}
	}
	for _, c := range []struct {
		d    time.Duration
		want int
	}{{0, 0}, {time.Microsecond, 0}, {10 * time.Microsecond, perDecade}, {time.Millisecond, 3 * perDecade}, {time.Second, 6 * perDecade}} {
		if got := bucketOf(c.d); got != c.want {
			t.Errorf("%v falls into bucket %d, want %d", c.d, got, c.want)
		}
	}
}

func TestHistogramCountsEachTimeOnce(t *testing.T) {
	h := histogramOf([]time.Duration{time.Millisecond, 100 * time.Millisecond, time.Millisecond, 10 * time.Millisecond})
	if h.from != 3*perDecade || len(h.counts) != 2*perDecade+1 || h.counts[0] != 2 || h.counts[perDecade] != 1 || h.counts[2*perDecade] != 1 {
		t.Errorf("from %d: %v", h.from, h.counts)
	}
}

// drawn reads a picture: how often each class of element is in it, and all text.
func drawn(t *testing.T, svg []byte) (classes map[string]int, words string) {
	t.Helper()
	classes = map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return classes, words
		}
		if err != nil {
			t.Fatalf("no well-formed XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			for _, a := range x.Attr {
				if a.Name.Local == "class" {
					classes[x.Name.Local+"."+a.Value]++
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.HasPrefix(a.Value, "-") {
					t.Errorf("%s: %s=%q", x.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			words += string(x) + "\n"
		}
	}
}

func TestPictureHasABarForEachBucketOfWhatIsCompared(t *testing.T) {
	row := func(subject, name string, took ...time.Duration) Row {
		r := rowOf(took)
		r.Subject, r.Name, r.Clients = subject, name, 1
		return r
	}
	rows := []Row{
		row("recall", "not drawn beside rivals", time.Second),
		row("rivals", "recall, Loci <&>", time.Millisecond, 2*time.Millisecond, 100*time.Millisecond),
		row("rivals", "recall, another", 3*time.Millisecond),
		row("rivals", "add one, another", time.Second),
		{Subject: "rivals", Name: "bulk add, another", Rate: 5},
	}
	var b bytes.Buffer
	if err := WriteHistograms(&b, "A < B", rows); err != nil {
		t.Fatal(err)
	}
	classes, words := drawn(t, b.Bytes())
	if classes["rect.own"] != 2*perDecade+1 || classes["rect.other"] != 1 || classes["line.middle"] != 2 {
		t.Errorf("elements %v", classes)
	}
	for _, want := range []string{"A < B", "Loci <&>", "1 client · p50 2 ms · p99 100 ms", "prefers-color-scheme: dark"} {
		if !strings.Contains(words, want) {
			t.Errorf("the picture does not say %q:\n%s", want, words)
		}
	}
	if strings.Contains(words, "not drawn") || strings.Contains(words, "bulk") {
		t.Errorf("the picture shows what is not a recall beside others:\n%s", words)
	}
}

func TestPictureOfRecallAloneAndOfNothing(t *testing.T) {
	alone := rowOf([]time.Duration{time.Millisecond})
	alone.Subject = "recall"
	for _, c := range []struct {
		rows []Row
		bars int
	}{{[]Row{alone}, 1}, {nil, 0}} {
		var b bytes.Buffer
		if err := WriteHistograms(&b, "t", c.rows); err != nil {
			t.Fatal(err)
		}
		if classes, _ := drawn(t, b.Bytes()); classes["rect.own"] != c.bars {
			t.Errorf("%d rows: elements %v", len(c.rows), classes)
		}
	}
}
