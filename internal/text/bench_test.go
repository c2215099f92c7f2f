package text

import (
	"strings"
	"testing"
	"time"
)

const question = "When did Ana's sister move from Lisbon to Porto, and which museums has she visited there?"

func BenchmarkTerms(b *testing.B) {
	for name, s := range map[string]string{"question": question, "message": strings.Repeat(question+" ", 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Terms(s)
			}
		})
	}
}

func BenchmarkWords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Words(question)
	}
}

func BenchmarkResolve(b *testing.B) {
	for name, s := range map[string]string{"none": question, "dates": "We met last Friday and again on 7 May 2023, two weeks ago."} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ResolveDates(s, time.Unix(1e9, 0))
			}
		})
	}
}
