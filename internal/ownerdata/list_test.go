package ownerdata

import (
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/memory"
)

func FuzzCursor(f *testing.F) {
	f.Add(EncodeCursor(ListPosition{time.UnixMicro(1).UTC(), "id"}))
	f.Add("")
	f.Add("bm90IGEgY3Vyc29y")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := DecodeCursor(text)
		if err != nil {
			if !errors.Is(err, memory.Invalid) {
				t.Errorf("%q: got %v, want %v", text, err, memory.Invalid)
			}
			return
		}
		if again, err := DecodeCursor(EncodeCursor(p)); err != nil || !again.At.Equal(p.At) || again.ID != p.ID {
			t.Errorf("%q: got %+v, written and read again %+v, %v", text, p, again, err)
		}
	})
}
