package text

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/lazy"
)

// dateWord is the class of a word in dates, and the word's number in the class, counted from 1.
type dateWord struct {
	class string
	n     int
}

// dateTable lists the words of dates by class, in the order of their numbers. A slash separates synonyms. The
// number of a unit is its [Grain] plus 1.
var dateTable = map[string]string{
	"MONTH": "january/jan february/feb march/mar april/apr may june/jun july/jul " +
		"august/aug september/sep/sept october/oct november/nov december/dec",
	"WEEKDAY": "sunday monday tuesday wednesday thursday friday saturday",
	"SHORT":   "sun mon tue/tues wed/weds thu/thur/thurs fri sat",
	"SEASON":  "spring summer autumn/fall winter",
	"UNIT":    "day weekend week month - year",
	"UNITS":   "days - weeks months - years",
	"STEP":    "last/past/previous this next/coming",
	"PART":    "morning afternoon evening night",
	"NAMED":   "yesterday today/tonight tomorrow",
}

var dateWords = sync.OnceValue(func() map[string]dateWord {
	m := map[string]dateWord{}
	for class, line := range dateTable {
		for i, names := range strings.Fields(line) {
			for name := range strings.SplitSeq(names, "/") {
				m[name] = dateWord{class, i + 1}
			}
		}
	}
	return m
})

// dateForm is a way to write a date: words, names of classes, and a function that computes the date. A word
// with "?" is optional, DATE is a day of a month, and TO is a word between the two ends of a range.
type dateForm struct {
	words []string
	date  func(p *dateParser, m match) Date // computes the date; returns the zero Date if the words mean no date
	until func(p *dateParser, m match) Date // computes the other end of a range
}

func form(words string, date func(*dateParser, match) Date) dateForm {
	return dateForm{words: strings.Fields(words), date: date}
}

func (f *dateForm) is(class string) bool { return slices.Contains(f.words, class) }

// dayForms returns the ways to write a day of a month.
var dayForms = sync.OnceValue(func() []dateForm {
	return []dateForm{
		form("YEAR DAY DAY", func(_ *dateParser, m match) Date { return dayOf(m.v[0], time.Month(m.v[1]), m.v[2]) }),
		form("POINTS", func(p *dateParser, m match) Date { // dates with full stops have the day first
			t, _ := time.Parse("2.1.2006", p.toks[m.i].low)
			return days(t, 1)
		}),
		form("DAY of? MONTH YEAR?", func(p *dateParser, m match) Date { return p.dayInMonth(m.i, m.v[2], m.v[1], m.v[0]) }),
		form("MONTH DAY YEAR?", func(p *dateParser, m match) Date { return p.dayInMonth(m.i, m.v[2], m.v[0], m.v[1]) }),
	}
})

// dateForms returns all ways to write a date, in order of precedence.
var dateForms = sync.OnceValue(func() []dateForm {
	from := func(n int) func(*dateParser, match) Date { // the date n days after the reference day
		return func(p *dateParser, _ match) Date { return period(Day, p.day, n) }
	}
	units := func(sign int) func(*dateParser, match) Date {
		return func(p *dateParser, m match) Date {
			if m.v[1]-1 == int(Weekend) {
				return Date{}
			}
			return period(Grain(m.v[1]-1), p.day, sign*m.v[0])
		}
	}
	couple := func(sign int) func(*dateParser, match) Date {
		return func(p *dateParser, m match) Date { return units(sign)(p, match{v: [5]int{2, m.v[0]}}) }
	}
	relative := func(d Date) Date {
		d.Relative = true
		return d
	}
	forms := []dateForm{ // ranges in the nearest month of this name
		{
			words: strings.Fields("MONTH DAY TO DAY YEAR?"),
			date:  func(p *dateParser, m match) Date { return p.dayInMonth(0, m.v[3], m.v[0], m.v[1]) },
			until: func(p *dateParser, m match) Date { return p.dayInMonth(0, m.v[3], m.v[0], m.v[2]) },
		}, {
			words: strings.Fields("DAY TO DAY of? MONTH YEAR?"),
			date:  func(p *dateParser, m match) Date { return p.dayInMonth(0, m.v[3], m.v[2], m.v[0]) },
			until: func(p *dateParser, m match) Date { return p.dayInMonth(0, m.v[3], m.v[2], m.v[1]) },
		},
	}
	return slices.Concat(forms, dayForms(), []dateForm{
		form("MONTH YEAR", func(_ *dateParser, m match) Date { return monthsFrom(m.v[1], time.Month(m.v[0]), 1) }),
		form("MONTH", func(p *dateParser, m match) Date { return p.bareMonth(m.i, m.v[0]) }),
		form("NAMED PART?", func(p *dateParser, m match) Date { return period(Day, p.day, m.v[0]-2) }),
		form("this PART", from(0)),
		form("last night", from(-1)),
		form("day before yesterday", from(-2)),
		form("day after tomorrow", from(2)),
		form("STEP UNIT", func(p *dateParser, m match) Date {
			if m.v[1]-1 == int(Day) {
				return Date{}
			}
			return period(Grain(m.v[1]-1), p.day, m.v[0]-2)
		}),
		form("STEP WEEKDAY DATE", (*dateParser).sameWeekday), // such as "next Friday, May 15"
		form("STEP WEEKDAY", func(p *dateParser, m match) Date { return p.weekdayAt(m.v[1], m.v[0]-2) }),
		form("STEP MONTH", func(p *dateParser, m match) Date {
			name := p.toks[m.i+1]
			if len(name.low) < 4 && name.low != "may" || m.v[0] == 2 && p.s[name.Start] == 'm' { // "this may not heal" contains no month
				return Date{}
			}
			return relative(monthsFrom(p.yearOf(m.v[1], m.v[0]-2), time.Month(m.v[1]), 1))
		}),
		form("STEP SEASON", func(p *dateParser, m match) Date {
			return relative(seasonOf(p.yearOf(3*m.v[1]%12+2, m.v[0]-2), time.Month(3*m.v[1])))
		}),
		form("UNIT of DATE", func(_ *dateParser, m match) Date {
			g := Grain(m.v[0] - 1)
			if g != Week && g != Weekend {
				return Date{}
			}
			d := period(g, m.inner.From, 0)
			d.Relative = m.inner.Relative
			return d
		}),
		form("PART of DATE", func(_ *dateParser, m match) Date { return m.inner }),
		form("COUNT UNITS ago", units(-1)),
		form("a couple of? UNITS ago", couple(-1)),
		form("in COUNT UNITS time?", units(1)),
		form("in a couple of? UNITS time?", couple(1)),
		form("COUNT UNITS from now", units(1)),
		form("WEEKDAY DATE", (*dateParser).sameWeekday), // such as "Friday, May 8"
		form("WEEKDAY of? STEP week", (*dateParser).ofWeek),
		form("WEEKDAY in STEP week", (*dateParser).ofWeek),
		form("WEEKDAY", func(p *dateParser, m match) Date { return p.weekday(m.i, m.v[0]) }),
		form("ORDINAL", func(p *dateParser, m match) Date { return p.dayAlone(m.i, m.v[0]) }),
		form("SEASON of? YEAR", func(_ *dateParser, m match) Date { return seasonOf(m.v[1], time.Month(3*m.v[0])) }),
		form("YEAR", (*dateParser).bareYear),
	})
})

// Words near a date that show whether it is past or future.
var (
	counting      = lazy.Words("a an one in")
	beforeDay     = lazy.Words("on by until till til next last this every for from since to")
	beforeOrdinal = lazy.Words("on by until till til from since before after to")
	beforeMonth   = lazy.Words("in of since until till til by before after during early late mid from for")
	// wordsAfterDate may follow an ordinal that is a date. Before other words the ordinal counts things: "the
	// 2nd floor".
	wordsAfterDate = lazy.Words(`and or but so at in i we he she they it then because if when with for is was will
		to from on by until`)
	// countedWords follow a number that is an amount rather than a year.
	countedWords = lazy.Words("dollars euros people words steps miles km kilometers calories times")
	toCome       = lazy.Words(`will going gonna shall ll plan plans planning planned hope hoping tomorrow want upcoming due
		scheduled booked til until till moving starts start begins ends gets comes takes opens arrives
		leaves flies expires is are`)
	isPast = lazy.Words("was were since did had got said")
	// becomingVerbs are verbs after which a participle does not mean the past: "getting married".
	becomingVerbs = lazy.Words("get getting gets be being")
	// presentBe are the forms of "be" before current and future events.
	presentBe = lazy.Words("am is are m re")
)

// dateClass returns the date class of a word, or "".
func dateClass(low string) string { return dateWords()[low].class }
