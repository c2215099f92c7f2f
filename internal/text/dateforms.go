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
	class  string
	number int
}

// dateTable lists the words of dates by class, in the order of their numbers. A slash separates synonyms. The
// number of a unit is its [Precision] plus 1.
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
	words           []string
	computeDate     func(p *dateParser, m dateMatch) Date // computes the date; returns the zero Date if the words mean no date
	computeRangeEnd func(p *dateParser, m dateMatch) Date // computes the last date of a range; nil for a single date
}

func newDateForm(words string, computeDate func(*dateParser, dateMatch) Date) dateForm {
	return dateForm{words: strings.Fields(words), computeDate: computeDate}
}

func (f *dateForm) hasWord(class string) bool { return slices.Contains(f.words, class) }

// dayForms returns the ways to write a day of a month.
var dayForms = sync.OnceValue(func() []dateForm {
	return []dateForm{
		newDateForm("YEAR DAY DAY", func(_ *dateParser, m dateMatch) Date {
			return dayOf(m.numbers[0], time.Month(m.numbers[1]), m.numbers[2])
		}),
		newDateForm("POINTS", func(p *dateParser, m dateMatch) Date { // dates with full stops have the day first
			t, _ := time.Parse("2.1.2006", p.tokens[m.start].lower)
			return dayRange(t, 1)
		}),
		newDateForm("DAY of? MONTH YEAR?", func(p *dateParser, m dateMatch) Date {
			return p.dayInMonth(m.start, m.numbers[2], m.numbers[1], m.numbers[0])
		}),
		newDateForm("MONTH DAY YEAR?", func(p *dateParser, m dateMatch) Date {
			return p.dayInMonth(m.start, m.numbers[2], m.numbers[0], m.numbers[1])
		}),
	}
})

// dateForms returns all ways to write a date, in order of precedence.
var dateForms = sync.OnceValue(func() []dateForm {
	from := func(n int) func(*dateParser, dateMatch) Date { // the date n days after the reference day
		return func(p *dateParser, _ dateMatch) Date { return periodAfter(Day, p.referenceDay, n) }
	}
	units := func(sign int) func(*dateParser, dateMatch) Date {
		return func(p *dateParser, m dateMatch) Date {
			if m.numbers[1]-1 == int(Weekend) {
				return Date{}
			}
			return periodAfter(Precision(m.numbers[1]-1), p.referenceDay, sign*m.numbers[0])
		}
	}
	couple := func(sign int) func(*dateParser, dateMatch) Date {
		return func(p *dateParser, m dateMatch) Date {
			return units(sign)(p, dateMatch{numbers: [5]int{2, m.numbers[0]}})
		}
	}
	relative := func(d Date) Date {
		d.IsRelative = true
		return d
	}
	forms := []dateForm{ // ranges in the nearest month of this name
		{
			words: strings.Fields("MONTH DAY TO DAY YEAR?"),
			computeDate: func(p *dateParser, m dateMatch) Date {
				return p.dayInMonth(0, m.numbers[3], m.numbers[0], m.numbers[1])
			},
			computeRangeEnd: func(p *dateParser, m dateMatch) Date {
				return p.dayInMonth(0, m.numbers[3], m.numbers[0], m.numbers[2])
			},
		}, {
			words: strings.Fields("DAY TO DAY of? MONTH YEAR?"),
			computeDate: func(p *dateParser, m dateMatch) Date {
				return p.dayInMonth(0, m.numbers[3], m.numbers[2], m.numbers[0])
			},
			computeRangeEnd: func(p *dateParser, m dateMatch) Date {
				return p.dayInMonth(0, m.numbers[3], m.numbers[2], m.numbers[1])
			},
		},
	}
	return slices.Concat(forms, dayForms(), []dateForm{
		newDateForm("MONTH YEAR", func(_ *dateParser, m dateMatch) Date { return monthRange(m.numbers[1], time.Month(m.numbers[0]), 1) }),
		newDateForm("MONTH", func(p *dateParser, m dateMatch) Date { return p.bareMonth(m.start, m.numbers[0]) }),
		newDateForm("NAMED PART?", func(p *dateParser, m dateMatch) Date { return periodAfter(Day, p.referenceDay, m.numbers[0]-2) }),
		newDateForm("this PART", from(0)),
		newDateForm("last night", from(-1)),
		newDateForm("day before yesterday", from(-2)),
		newDateForm("day after tomorrow", from(2)),
		newDateForm("STEP UNIT", func(p *dateParser, m dateMatch) Date {
			if m.numbers[1]-1 == int(Day) {
				return Date{}
			}
			return periodAfter(Precision(m.numbers[1]-1), p.referenceDay, m.numbers[0]-2)
		}),
		newDateForm("STEP WEEKDAY DATE", (*dateParser).dateOnWeekday), // such as "next Friday, May 15"
		newDateForm("STEP WEEKDAY", func(p *dateParser, m dateMatch) Date { return p.weekdayAt(m.numbers[1], m.numbers[0]-2) }),
		newDateForm("STEP MONTH", func(p *dateParser, m dateMatch) Date {
			name := p.tokens[m.start+1]
			if len(name.lower) < 4 && name.lower != "may" || m.numbers[0] == 2 && p.text[name.Start] == 'm' { // "this may not heal" contains no month
				return Date{}
			}
			return relative(monthRange(p.yearOfStep(m.numbers[1], m.numbers[0]-2), time.Month(m.numbers[1]), 1))
		}),
		newDateForm("STEP SEASON", func(p *dateParser, m dateMatch) Date {
			return relative(seasonOf(p.yearOfStep(3*m.numbers[1]%12+2, m.numbers[0]-2), time.Month(3*m.numbers[1])))
		}),
		newDateForm("UNIT of DATE", func(_ *dateParser, m dateMatch) Date {
			g := Precision(m.numbers[0] - 1)
			if g != Week && g != Weekend {
				return Date{}
			}
			d := periodAfter(g, m.innerDate.From, 0)
			d.IsRelative = m.innerDate.IsRelative
			return d
		}),
		newDateForm("PART of DATE", func(_ *dateParser, m dateMatch) Date { return m.innerDate }),
		newDateForm("COUNT UNITS ago", units(-1)),
		newDateForm("a couple of? UNITS ago", couple(-1)),
		newDateForm("in COUNT UNITS time?", units(1)),
		newDateForm("in a couple of? UNITS time?", couple(1)),
		newDateForm("COUNT UNITS from now", units(1)),
		newDateForm("WEEKDAY DATE", (*dateParser).dateOnWeekday), // such as "Friday, May 8"
		newDateForm("WEEKDAY of? STEP week", (*dateParser).weekdayOfWeek),
		newDateForm("WEEKDAY in STEP week", (*dateParser).weekdayOfWeek),
		newDateForm("WEEKDAY", func(p *dateParser, m dateMatch) Date { return p.bareWeekday(m.start, m.numbers[0]) }),
		newDateForm("ORDINAL", func(p *dateParser, m dateMatch) Date { return p.ordinalDay(m.start, m.numbers[0]) }),
		newDateForm("SEASON of? YEAR", func(_ *dateParser, m dateMatch) Date { return seasonOf(m.numbers[1], time.Month(3*m.numbers[0])) }),
		newDateForm("YEAR", (*dateParser).bareYear),
	})
})

// Words near a date that show whether the words mean a date, and whether the date is past or future.
var (
	countWords    = lazy.Words("a an one in")
	beforeDay     = lazy.Words("on by until till til next last this every for from since to")
	beforeOrdinal = lazy.Words("on by until till til from since before after to")
	beforeMonth   = lazy.Words("in of since until till til by before after during early late mid from for")
	// wordsAfterDate may follow an ordinal that is a date. Before other words the ordinal counts things: "the
	// 2nd floor".
	wordsAfterDate = lazy.Words(`and or but so at in i we he she they it then because if when with for is was will
		to from on by until`)
	// countedWords follow a number that is an amount rather than a year.
	countedWords = lazy.Words("dollars euros people words steps miles km kilometers calories times")
	futureWords  = lazy.Words(`will going gonna shall ll plan plans planning planned hope hoping tomorrow want upcoming due
		scheduled booked til until till moving starts start begins ends gets comes takes opens arrives
		leaves flies expires is are`)
	pastWords = lazy.Words("was were since did had got said")
	// becomingVerbs are verbs after which a participle does not mean the past: "getting married".
	becomingVerbs = lazy.Words("get getting gets be being")
	// presentBe are the forms of "be" before current and future events.
	presentBe = lazy.Words("am is are m re")
)

// dateClass returns the date class of a word, or "".
func dateClass(word string) string { return dateWords()[word].class }
