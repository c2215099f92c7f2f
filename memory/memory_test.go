package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

func TestErrorsAreFoundByCode(t *testing.T) {
	cause := errors.New("disk full")
	err := fmt.Errorf("record: %w", Errorf(Unavailable, "write turns: %w", cause))
	if !errors.Is(err, Unavailable) || !errors.Is(err, cause) || errors.Is(err, Conflict) {
		t.Errorf("%v: is unavailable %v, is its cause %v, is conflict %v; want true, true, false",
			err, errors.Is(err, Unavailable), errors.Is(err, cause), errors.Is(err, Conflict))
	}
	if got, want := err.Error(), "record: write turns: disk full"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestFactsSayTheirCore reads facts as they are written now, and as they were before they had one.
func TestFactsSayTheirCore(t *testing.T) {
	for text, want := range map[string]Core{
		`{"id":"f"}`: CoreAuto, `{"core":"auto"}`: CoreAuto, `{"core":""}`: CoreAuto, `{"pinned":false}`: CoreAuto,
		`{"core":"always"}`: CoreAlways, `{"pinned":true}`: CoreAlways, `{"core":"never"}`: CoreNever, `{"core":"never","pinned":true}`: CoreNever,
	} {
		var f, again Fact
		if err := json.Unmarshal([]byte(text), &f); err != nil || f.Core != want || f.Pinned() != (want == CoreAlways) {
			t.Errorf("%s: core %s, pinned %v, %v; want %s", text, f.Core, f.Pinned(), err, want)
		}
		if written, err := json.Marshal(f); err != nil || json.Unmarshal(written, &again) != nil || again.Core != want {
			t.Errorf("%s: written %s, %v; read again %s, want %s", text, written, err, again.Core, want)
		}
	}
	if err := json.Unmarshal([]byte(`{"core":"often"}`), &Fact{}); !errors.Is(err, Invalid) {
		t.Errorf("another core: got %v, want Invalid", err)
	}
}

func TestNewerIsStrict(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	first := Fact{ObservedAt: at, ObservedSeq: 1}
	second := Fact{ObservedAt: at, ObservedSeq: 2}
	later := Fact{ObservedAt: at.Add(time.Microsecond)}
	for _, c := range []struct {
		name string
		f, g Fact
		want bool
	}{
		{"itself", first, first, false},
		{"a later place in the same message", second, first, true},
		{"an earlier place", first, second, false},
		{"a later time, whatever the place", later, second, true},
	} {
		if got := c.f.Newer(&c.g); got != c.want {
			t.Errorf("%s: Newer = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestReplaceLeavesItsInputsAndClosesTheOldFact(t *testing.T) {
	began := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	old := Fact{ID: "old", Status: Active, Version: 7}
	next := Fact{ID: "new", Status: Active, ObservedAt: began}
	changes := Replace(old, next, began.Add(time.Hour), "moved", Author{Kind: ByRule})
	if old.Status != Active {
		t.Errorf("the input became %s", old.Status)
	}
	gone := changes[0].After.Fact
	if gone.Status != Superseded || gone.SupersededBy != "new" || !gone.ValidTo.Equal(began) || changes[0].Base != 7 {
		t.Errorf("old fact after: %+v with base %d; want superseded by new, valid to %s, base 7", gone, changes[0].Base, began)
	}
	if changes[1].Action != ActionAdd || changes[1].After.Fact.ID != "new" || changes[1].OldID != "old" {
		t.Errorf("second change %+v, want an add of new that names old", changes[1])
	}
}

func TestWhyKeepsItsOrderInJSON(t *testing.T) {
	why := Why{}.With("lexical", 0.5).With("vector", 0.25).With("lexical", 0.75)
	data, err := json.Marshal(why)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data), `{"lexical":0.75,"vector":0.25}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var back Why
	if err := json.Unmarshal(data, &back); err != nil || len(back) != 2 || back[0] != why[0] || back[1] != why[1] {
		t.Errorf("read back as %v (%v), want %v", back, err, why)
	}
	for _, bad := range []string{`{"a":"b"}`, `[1]`, `3`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read as %v, want an error", bad, back)
		}
	}
}

func TestWhyReadsBackAsWritten(t *testing.T) {
	why := Why{{"cue.words", 1.0 / 3}, {"", 0}, {`a"b\c`, -1e-9}, {"größe", 1e21}, {"<x>", math.MaxFloat64}, {"tiny", math.SmallestNonzeroFloat64}, {"score", 12345678}}
	data, err := json.Marshal(why)
	if err != nil || !json.Valid(data) {
		t.Fatalf("%s: %v", data, err)
	}
	var got Why
	if err := json.Unmarshal(data, &got); err != nil || !slices.Equal(got, why) {
		t.Errorf("read back %v (%v), want %v", got, err, why)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := (Why{{"x", x}}).MarshalJSON(); err == nil {
			t.Errorf("%v is written, want an error", x)
		}
	}
}
