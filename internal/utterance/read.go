package utterance

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/memory"
)

// ParsedMessage has a user's own words without other texts of a message. The parser recognises common forms:
// labels, instructions about a text, fences, XML elements, quotations, mails, transcripts.
type ParsedMessage struct {
	OwnText         string // the message, in which spaces replace other people's texts and instructions about these texts
	OwnTextAndTasks string // OwnText, with instructions about other people's texts and with questions after such a text
	// MayBeWrong is set if only an instruction separates the person's words from a text, so that the separation
	// may be wrong.
	MayBeWrong bool
}

// maxReadBytes is the maximum number of bytes of a message that are read, half of them at each end. People type less.
const maxReadBytes = 64 << 10

// ParseMessage separates the parts of a user's message. foreign has ranges that certainly come from others. If in
// doubt, text counts as foreign: an unclosed element extends to the end, and an element ends at its last closing tag,
// so that a document in the element cannot end it early.
func ParseMessage(message string, foreign memory.Ranges) ParsedMessage {
	if foreign == "" && !strings.HasPrefix(message, "Dear ") && !strings.ContainsAny(message, "\n:<>`\"“«„{|'~\t") {
		return ParsedMessage{OwnText: message, OwnTextAndTasks: message}
	}
	r := messageReader{message: message, remaining: []byte(message)}
	for start, end := range foreign.Within(len(message)) {
		r.cutRange(start, end)
	}
	if len(message) > maxReadBytes {
		r.cutRange(maxReadBytes/2, len(message)-maxReadBytes/2)
	}
	for _, step := range []func(*messageReader){(*messageReader).cutFences, (*messageReader).cutElements, (*messageReader).cutMachineText, (*messageReader).cutMails, (*messageReader).cutSections, (*messageReader).cutPastedLines, (*messageReader).cutTranscripts, (*messageReader).cutQuotations} {
		r.stepStart = string(r.remaining)
		step(&r)
	}
	u := ParsedMessage{OwnText: string(r.remaining), MayBeWrong: r.mayBeWrong}
	for start, end := range r.instructions.Within(len(message)) {
		copy(r.remaining[start:end], message[start:end])
	}
	u.OwnTextAndTasks = string(r.remaining)
	return u
}

// OwnTextOf returns the speaker's own words in a turn. For assistants and named speakers this is the whole turn.
func OwnTextOf(t memory.Turn) string {
	if t.Role != memory.RoleUser || t.Name != "" && t.Foreign == memory.Ranges("").With(0, len(t.Content)) {
		return t.Content
	}
	return ParseMessage(t.Content, t.Foreign).OwnText
}

// ForeignRanges returns the ranges of lines that the person did not write, in a message of several parts joined by
// line breaks. It reads each part separately.
func ForeignRanges(parts []string) (foreign memory.Ranges) {
	at := 0
	for _, part := range parts {
		own, from := ParseMessage(part, "").OwnTextAndTasks+"\n", 0
		for line := range strings.Lines(part + "\n") {
			if strings.TrimSpace(line) != "" && strings.TrimSpace(own[from:from+len(line)]) == "" {
				foreign = foreign.With(at+from, at+from+len(line)-1)
			}
			from += len(line)
		}
		at += from
	}
	return foreign
}

var (
	userNames  = lazy.Words("user human person user_proxy userproxy me")
	agentNames = lazy.Words("planner critic researcher writer coder programmer engineer reviewer executor assistant agent bot manager analyst supervisor coordinator orchestrator editor tester designer scientist expert tool system model ai admin router selector")
)

// speakerPrefix matches the speaker's name at the beginning of a message: "[keeper]: I keep the notes."
var speakerPrefix = lazy.Compile(`^\[([\p{L}\d_ .-]{1,40})\]: `)

// SpeakerName returns the speaker that a message names at its beginning, or "".
func SpeakerName(message string) string {
	if m := speakerPrefix.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// IsInstruction reports whether a message has only instructions about a text that is not in the message.
func IsInstruction(message string) bool {
	found := instructionsIn(strings.TrimSpace(message))
	return len(found) == 1 && found[0].end == len(strings.TrimSpace(message)) && (workVerbs.Has(found[0].verb) || found[0].refersToText) && len(message) < maxMailHead
}

// HumanSpeaker returns the human among the speakers of messages with the role user, or "". names are in lower case
// and in the order of speaking.
func HumanSpeaker(names []string) string {
	isNotJob := func(name string) bool {
		words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
		return !slices.ContainsFunc(words, agentNames.Has) // agents are named after jobs
	}
	for _, is := range []func(string) bool{userNames.Has, isNotJob} {
		if i := slices.IndexFunc(names, is); i >= 0 {
			return names[i]
		}
	}
	return strings.Join(names[:min(1, len(names))], "")
}

// messageReader is the state of [ParseMessage] for one message.
type messageReader struct {
	message      string
	remaining    []byte // the message, in which cut parts are blank
	stepStart    string // value of remaining at the beginning of the current step
	instructions memory.Ranges
	mayBeWrong   bool
}

// cutRange blanks a part of the message in all results.
func (r *messageReader) cutRange(from, to int) {
	for i := from; i < to; i++ {
		if c := r.remaining[i]; c != '\n' && c != '\r' {
			r.remaining[i] = ' '
		}
	}
}

// cutInstruction blanks an instruction in [ParsedMessage.OwnText], but not in [ParsedMessage.OwnTextAndTasks].
func (r *messageReader) cutInstruction(from, to int) {
	r.instructions = r.instructions.With(from, to)
	r.cutRange(from, to)
}

// line is a line of the message without surrounding white space. start is its offset.
type line struct {
	text  string
	start int
}

func (l line) endOffset() int { return l.start + len(l.text) }

// beginsText and endsText report whether the line begins or ends a pasted text. hasFilePath reports whether the
// line is a heading with a file's path, and isRule whether it is a horizontal rule.
func (l line) beginsText() bool  { return l.namesText(textBegin) }
func (l line) endsText() bool    { return l.namesText(textEnd) }
func (l line) hasFilePath() bool { return fileHeading.MatchString(l.text) }
func (l line) isRule() bool      { return ruleForm.MatchString(l.text) }

// namesText reports whether a pattern matches the line and its captured word, if any, names a text.
func (l line) namesText(pattern *lazy.Pattern) bool {
	m := pattern.FindStringSubmatch(l.text)
	return m != nil && (m[1] == "" || textNoun.MatchString(m[1]))
}

func (r *messageReader) lines() []line {
	var out []line
	at := 0
	for s := range strings.Lines(r.stepStart) {
		text := strings.TrimLeft(s, " \t")
		out = append(out, line{strings.TrimRight(text, " \t\r\n"), at + len(s) - len(text)})
		at += len(s)
	}
	return out
}

// cutFences cuts text between lines that begin with ``` or ~~~, and between triple quotation marks.
func (r *messageReader) cutFences() {
	open, mark := 0, ""
	for _, l := range r.lines() {
		switch {
		case mark == "" && (strings.HasPrefix(l.text, "```") || strings.HasPrefix(l.text, "~~~")):
			if open, mark = l.start, l.text[:3]; strings.Count(l.text, mark) > 1 {
				r.cutRange(l.start, l.endOffset())
				mark = ""
			}
		case mark != "" && strings.HasPrefix(l.text, mark):
			r.cutRange(open, l.endOffset())
			mark = ""
		}
	}
	if mark != "" {
		r.cutRange(open, len(r.remaining))
	}
	for _, quotes := range []string{`"""`, `'''`} {
		if i := strings.Index(r.stepStart, quotes); i >= 0 {
			end := len(r.stepStart)
			if j := strings.LastIndex(r.stepStart, quotes); j > i {
				end = j + len(quotes)
			}
			r.cutRange(i, end)
		}
	}
}

// Elements with the person's words, elements that only format words, and elements with other text, even
// without a closing tag.
var (
	personElements     = lazy.Words("user_query query user_question question user_message user_input user_request user_prompt message input prompt request task feedback answer")
	formattingElements = lazy.Words("b i u s em strong sub sup small mark br hr a span font kbd q img")
	textElements       = lazy.Words(`context document documents doc docs source sources file files attachment attachments excerpt search_results results tool_result
		web page webpage !doctype article email transcript data knowledge retrieved selection code pre html body system memory memories history conversation chat_history
		instructions quote blockquote loci-memory`)
)

// cutElements cuts elements, except the person's words in personElements.
func (r *messageReader) cutElements() {
	eachElement(r.stepStart, func(e element) (next int) {
		switch {
		case personElements.Has(e.name) && strings.HasPrefix(e.name, "user_") && e.closing.end > 0: // only the content of this element is from the person
			r.cutRange(0, e.end)
			r.cutRange(e.closing.start, len(r.remaining))
			return len(r.remaining)
		case personElements.Has(e.name):
			r.cutRange(e.start, e.end)
			r.cutRange(e.closing.start, e.closing.end)
			return e.end
		case e.closing.end == 0 && (textElements.Has(e.name) || strings.Contains(e.name, "_")):
			e.closing.end = len(r.remaining)
		}
		r.cutRange(e.start, max(e.start, e.closing.end))
		return max(e.end, e.closing.end)
	})
}

// textNames matches nouns for texts on which a message asks to work.
const textNames = `(?:contexts?|documents?|docs|passages?|articles?|texts?|e-?mails?|mails?|messages?|files?|excerpts?|snippets?|transcripts?|logs?|conversations?|chats?|dialogues?|threads?|sources?|results?|papers?|reports?|letters?|posts?|tweets?|reviews?|pages?|websites?|code|data|datasets?|stor(?:y|ies)|lyrics|poems?|abstracts?|(?:job )?postings?|descriptions?|outputs?|errors?|traces?|memor(?:y|ies)|information|knowledge|quotes?|recipes?|contracts?|minutes|materials?|references?|observations?|sentences?|paragraphs?|submissions?|inputs?|essays?|notes?|bios?|profiles?|cvs?|applications?|ads?|ocr|grammar|spelling|typos|diar(?:y|ies)|speech(?:es)?|captions?|texte?s?|rechtschreibung|brief|nachricht|textos?|correo|carta|lettre|redacción)`

var (
	textNoun = lazy.Compile(`(?i)^` + textNames + `$`)

	// label matches a line's label for the next text: "## My question is:", "[Submission]:", "Context:".
	label = lazy.Compile(`^(?:#+ *|\*\*|\[\[ ## |\[|- )?((?:[\p{L}\p{N}_'’()/&-]+ ?){1,10}?)(?:\*\*| ?## \]\]|\])? ?(?:[:：](?:\*\*)?|$)`)

	ownLabel         = lazy.Compile(`(?i)^(?:(?:user|the|my|current|final|actual|new|latest|original|human|follow[- ]?up)(?:['’]s)? )*(?:question|query|request|message|prompt|ask|user|human|me|(?:user|human|follow[- ]?up|new) input)(?: is)?(?: as follows)?$`)
	taskLabel        = lazy.Compile(`(?i)^(?:(?:current|new|main|your|the) )?(?:task|instruction)$`)
	textLabel        = lazy.Compile(`(?i)^(?:` + textNames + `|(?:[\p{L}\p{N}'’()/-]+ ){0,6}` + textNames + `(?: ?(?:\d+|\([^)]*\)|history|block|with|from|below|name))*|background|attachments?|contents?|history|profile|instructions?|guidelines?|format|examples?|rules|system|persona|answer|response|thought|action|action input|expected criteria\b.*|tools?|url|title|link|(?:command|tool|function|agent|search|api)\b.*)$`)
	inputLabel       = lazy.Compile(`(?i)^(?:inputs?|contexts?|texts?|documents?|data)\s*[:：]`)
	givenLabel       = lazy.Compile(`(?i)^(?:texts?|documents?|passages?|articles?|e-?mails?|transcripts?|excerpts?|sentences?|paragraphs?|reviews?|observations?)\b|^(?:command|tool|function|agent|search|api)\b`)
	aboutUser        = lazy.Compile(`(?i)\b(?:about|for) (?:me|myself|us)\b|^(?:my|our)\b|\bi wrote (?:it |this )?myself\b|\bmy (?:introduction|cv|résumé)\b|\bmy (?:own |personal |current |basic )*(?:info\w*|details|profile|background|data|bio|preferences?|situation|setup|family|allergies|schedule|goals?|medications?)\b`)
	firstPersonStart = lazy.Compile(`(?i)^(?:hi|hello|hey)?[\s,!]*(?:i|i['’]m|i['’]ve|my|we|our)\b`)

	fileHeading = lazy.Compile(`^(?:#+|={3,}|-{3,}|\*{3,}) ?(?:[\w.-]+/)*[\w.-]+\.\w{1,5}(?: ?(?:={3,}|-{3,}|\*{3,}|#{3,}))?$`)
	ruleForm    = lazy.Compile(`^(?:-{3,}|={3,}|\*{3,}|_{3,})$`)
	textBegin   = lazy.Compile(`(?i)^[\W_]*(?:begin(?:ning)?|start)(?: of)?(?: the)? (\p{L}+)|^\[[^\]]*\b(?:begin|start)\]$|^\[context \d+\]:?$`)
	textEnd     = lazy.Compile(`(?i)^[\W_]*end(?:ing)?(?: of)?(?: the)? (\p{L}+)|^\[[^\]]*\bend\]$`)

	// introductionEnd matches the end of a line that introduces a text: "the following:".
	introductionEnd = lazy.Compile(`(?i)(?:\b(?:` + textNames + `|below|following|wrote|writes|said|says|sent|texted|messaged|replied|posted|got|received|available|reads?|as follows)\b[^\n.!?]{0,60}|\bthis(?: \w+){0,3}|\blook at (?:this|that|these))[:：]$`)

	// reportedSpeech matches the introduction of another person's words in a line: "my boss wrote:".
	reportedSpeech = lazy.Compile(`(?i)\b(?:he|she|they|(?:my|our|the|his|her) (?:\w+ ){0,2}\w+|\p{Lu}\w+) (?:just )?(?:says?|said|sent|wrote|texted|messaged|forwarded|e-?mailed|posted|replied|tweeted)(?: (?:to|me|us|back|this|that|the following|it|in|on|his|her|their|a|an|text|message|e-?mail|note|reply|letter|card)){0,5}:|\b(?:message|text|e-?mail|note|letter|reply|post|caption|bio|draft)\b[^\n:.!?]{0,30}\bfrom (?:a|an|my|our|the|him|her|them)\b[^\n:.!?]{0,30}:|\b(?:lyrics|persona|(?:movie|film|song) (?:quote|line))\b[^\n:.!?]{0,20}:|\bto quote\b[^\n:.!?]{0,40}:`)

	continuation = lazy.Compile(`(?i)^(?:but|no|actually|btw|by the way|anyway|p\.? ?s|that['’]?s|thanks?)\b`)
)

// Verbs for work on a text: workVerbs always refer to a text, writingVerbs produce a text, ambiguousVerbs may mean
// other work, introducingVerbs may only introduce a text. replyWords are words for answering.
var (
	workVerbs      = lazy.Words("explain translate rewrite re-write rephrase re-phrase proofread proof-read paraphrase summarize summarise polish shorten classify korrigiere übersetze corrige traduce resume traduis résume")
	writingVerbs   = lazy.Words("write draft compose generate continue complete grade")
	ambiguousVerbs = lazy.Words(`edit correct improve simplify convert fix review analyze analyse answer reply respond extract compare describe read use evaluate rate critique
		look give provide given based according consider clean make put turn think here here's someone somebody erkläre erklär antworte mach fasse fass schreib explica responde explique réponds`)
	introducingVerbs = lazy.Words("give provide given based according consider use")
	replyWords       = lazy.Words("reply respond answer response grade")
	wordsBeforeVerb  = lazy.Words("please you me bitte por")
	pointingWords    = lazy.Words("this these that below above following it diese dieser dieses diesen folgende folgenden folgender daraus este esto ce cette")
)

// instruction is an instruction about a text.
type instruction struct {
	start, end   int    // offsets in the line; end is after the final mark
	text         string // the instruction without its final mark
	finalMark    rune   // the final mark: ':', '"' or '.'; utf8.RuneError at the end of the line
	verb         string
	beginsLine   bool // the instruction begins the line
	refersToText bool // the instruction has "this", "below" or the like, or a noun for a text
	namesText    bool // the instruction has a noun for a text
}

// concernsText reports whether the instruction certainly concerns a text.
func (o instruction) concernsText() bool { return workVerbs.Has(o.verb) || o.refersToText }

// endsInColon and endsInQuote report whether the instruction ends in a colon or a quotation mark.
func (o instruction) endsInColon() bool { return o.finalMark == ':' || o.finalMark == '：' }
func (o instruction) endsInQuote() bool { return o.finalMark == '"' || o.finalMark == '“' }

// instructionsIn returns the instructions in a line.
func instructionsIn(s string) (out []instruction) {
	begins, last := true, ""
	EachWordSpan(s, func(from, to int) {
		word := strings.ToLower(s[from:to])
		if (begins || wordsBeforeVerb.Has(last)) && (workVerbs.Has(word) || writingVerbs.Has(word) || ambiguousVerbs.Has(word)) {
			stop := from + strings.IndexAny(s[from:]+"\n", ":：\"“.!?\n")
			o := instruction{start: from, text: s[from:stop], verb: word, beginsLine: from == 0}
			mark, n := utf8.DecodeRuneInString(s[stop:])
			o.finalMark, o.end = mark, stop+n
			EachWordSpan(o.text, func(from, to int) {
				word := strings.ToLower(o.text[from:to])
				o.namesText = o.namesText || textNoun.MatchString(word)
				o.refersToText = o.refersToText || o.namesText || pointingWords.Has(word)
			})
			out = append(out, o)
		}
		begins, last = to < len(s) && strings.IndexByte(".!?", s[to]) >= 0, word
	})
	return out
}

// EachWordSpan calls yield with the bounds of each word of a text.
func EachWordSpan(s string, yield func(from, to int)) {
	from := -1
	for i, c := range s {
		switch in := c == '\'' || c == '’' || c == '-' || unicode.IsLetter(c) || unicode.IsDigit(c); {
		case in && from < 0:
			from = i
		case !in && from >= 0:
			yield(from, i)
			from = -1
		}
	}
	if from >= 0 {
		yield(from, len(s))
	}
}

// labelKind is the kind of text under a label.
type labelKind int

const (
	noLabel labelKind = iota
	otherLabel
	otherTextLabel
	instructionLabel
	ownTextLabel
)

// labelOf returns the kind and the length of a line's label.
func labelOf(s string) (kind labelKind, length int) {
	if s == "" || s[0] != '#' && !strings.ContainsAny(s, ":：]*") {
		return noLabel, 0
	}
	m := label.FindStringSubmatchIndex(s)
	if m == nil {
		return noLabel, 0
	}
	name := strings.TrimSpace(s[m[2]:m[3]])
	switch {
	case ownLabel.MatchString(name):
		return ownTextLabel, m[1]
	case taskLabel.MatchString(name):
		return instructionLabel, m[1]
	case textLabel.MatchString(name) && !aboutUser.MatchString(name):
		return otherTextLabel, m[1]
	}
	return otherLabel, m[1]
}

// cutSections cuts the texts under labels, headings and instructions.
func (r *messageReader) cutSections() {
	lines := r.lines()
	if r.keepLastSection(lines) {
		return
	}
	lastBlock := len(lines) // index of the first line of the last block
	for lastBlock > 0 && (lastBlock == len(lines) || lines[lastBlock-1].text != "" || strings.TrimSpace(r.stepStart[lines[lastBlock].start:]) == "") {
		lastBlock--
	}
	isInText, nextIsText := false, false // isInText: line l is inside a text; nextIsText: the next block begins a text
	for i, l := range lines {
		if l.text == "" {
			isInText, nextIsText = isInText || nextIsText, false
			continue
		}
		last := strings.TrimSpace(r.stepStart[l.endOffset():]) == ""
		k, n := labelOf(l.text)
		switch {
		case isInText && (l.isRule() || l.endsText()):
			r.cutRange(l.start, l.endOffset())
			isInText = false
			continue
		case isInText && i >= lastBlock && i > 0 && lines[i-1].text == "" && (strings.HasSuffix(l.text, "?") || beginsWithInstruction(l) || continuation.MatchString(l.text)):
			return // the person's words continue here
		case isInText:
			r.cutRange(l.start, l.endOffset())
			continue
		case l.beginsText(), l.hasFilePath(), k == otherTextLabel && (givenLabel.MatchString(l.text) || len(lines) > 1 && !firstPersonStart.MatchString(strings.TrimSpace(l.text[n:]))):
			r.cutRange(l.start, l.endOffset())
			isInText = !r.isCutAfter(l.endOffset())
			continue
		case l.isRule() && len(l.text) >= minRuleLength:
			if j := slices.IndexFunc(lines[i+1:], func(o line) bool { return o.isRule() && len(o.text) >= minRuleLength }); j >= 0 {
				r.cutRange(l.start, lines[i+1+j].start)
				for k := i + 1; k < i+1+j; k++ {
					lines[k].text = ""
				}
			}
			continue
		}
		switch at, from, back := r.findIntroduction(l, last, i > 0 && (i == lastBlock || last)); {
		case at < 0:
		case back: // an instruction that follows its text
			r.cutRange(0, at)
			r.cutInstruction(at, from)
			r.mayBeWrong = true
			return
		default:
			r.cutInstruction(at, from)
			if r.mayBeWrong = true; r.isCutAfter(from) {
				continue
			}
			if nextIsText = strings.TrimSpace(r.stepStart[from:l.endOffset()]) != "" && r.stepStart[from-1] != ':'; !nextIsText {
				r.cutRange(from, l.endOffset())
				isInText = true
			}
		}
	}
}

// minRuleLength is the minimum length of a horizontal rule that encloses a text. People type shorter rules.
const minRuleLength = 8

// isCutAfter reports whether the text after an offset is already cut, as a fence or an element.
func (r *messageReader) isCutAfter(from int) bool {
	next := strings.TrimLeft(r.message[from:], " \t\r\n")
	return next != "" && r.stepStart[len(r.message)-len(next)] == ' '
}

// findIntroduction returns the range [start, end) of a line's instruction or sentence that introduces a text; start
// is -1 for none. precedes reports whether the text precedes the line, which is possible only in the last block.
func (r *messageReader) findIntroduction(l line, isLastLine, inLastBlock bool) (start, end int, precedes bool) {
	colons := strings.ContainsAny(l.text, ":：")
	if m := reportedSpeech.FindStringIndex(l.text); colons && m != nil {
		switch rest := strings.TrimLeft(l.text[m[1]:], " "); {
		case rest == "":
			return l.start + m[0], l.endOffset(), false
		case rest[0] != '"': // cutQuotations cuts the text after a quotation mark
			r.cutRange(l.start+strings.LastIndexAny(l.text[:m[0]], ".!?")+1, l.endOffset())
			return -1, 0, false
		}
	}
	for _, o := range instructionsIn(l.text) {
		rest := strings.TrimSpace(l.text[o.end:])
		hasTextAfter, colon := strings.TrimSpace(r.stepStart[l.start+o.end:]) != "", o.endsInColon()
		switch {
		case aboutUser.MatchString(l.text), o.endsInQuote():
		case colon && hasTextAfter && (workVerbs.Has(o.verb) || writingVerbs.Has(o.verb) || o.refersToText && (rest == "" || o.namesText)),
			o.concernsText() && hasTextAfter && rest == "":
			return l.start + o.start, l.start + o.end, false
		case inLastBlock && o.beginsLine && (o.concernsText() || replyWords.Has(o.verb)) && !introducingVerbs.Has(o.verb) && len(strings.Fields(o.text)) <= maxInstructionWords:
			return l.start, l.start + o.end, true
		case !colon && o.concernsText() && rest != "" && strings.Contains(r.stepStart[l.endOffset():], "\n\n"):
			return l.start + o.start, l.start + o.end, false
		}
	}
	if colons && !isLastLine && introductionEnd.MatchString(l.text) && !aboutUser.MatchString(l.text) {
		start := strings.LastIndexAny(strings.TrimRight(l.text, ":： ."), ".!?") + 1
		return l.start + start, l.endOffset(), false
	}
	return -1, 0, false
}

// maxInstructionWords is the maximum number of words of an instruction that follows its text.
const maxInstructionWords = 10

func beginsWithInstruction(l line) bool {
	found := instructionsIn(l.text)
	return len(found) > 0 && found[0].beginsLine
}

// keepLastSection cuts all text except the text under the last label for the person's words. It returns
// false, and cuts no text, without such a label or without a sign of other texts.
func (r *messageReader) keepLastSection(lines []line) bool {
	labelLine, start, hasOtherText := -1, 0, false
	for _, want := range []labelKind{ownTextLabel, instructionLabel} {
		for i, l := range lines {
			switch k, n := labelOf(l.text); {
			case k == want && (k == ownTextLabel || n == len(l.text) || i+1 < len(lines) && inputLabel.MatchString(lines[i+1].text)):
				labelLine, start = i, l.start+n
			case k == otherTextLabel, k == otherLabel && strings.TrimSpace(r.stepStart[l.endOffset():]) == "":
				hasOtherText = true
			default:
				hasOtherText = hasOtherText || slices.ContainsFunc(instructionsIn(l.text), func(o instruction) bool { return o.beginsLine && o.refersToText })
			}
		}
		if labelLine >= 0 {
			break
		}
	}
	if labelLine < 0 || !hasOtherText {
		return false
	}
	end, empty := len(r.stepStart), false
	for _, l := range lines[labelLine+1:] {
		k, n := labelOf(l.text)
		if k == otherTextLabel || k == otherLabel && (empty || len(strings.Fields(l.text[:n])) <= 3) || empty && beginsWithInstruction(l) || l.isRule() {
			end = l.start
			break
		}
		empty = l.text == ""
	}
	r.cutRange(0, start)
	r.cutRange(end, len(r.remaining))
	return true
}

var (
	mailBegins = lazy.Compile(`(?i)^[->\s]*(?:-{2,}\s*)?(?:original message|forwarded message|begin forwarded message|weitergeleitete nachricht|ursprüngliche nachricht)\b|^(?:on|am|le|el) .{0,80}[\d@].{0,80}\b(?:wrote|schrieb|a écrit|escribió)\s*:$|^(?:dear (?:sir|madam|mr|mrs|ms|dr)|to whom it may concern)\b|^(?:diff --git|commit [0-9a-f]{7,40}$|traceback \(most recent call last\))`)
	mailHeader = lazy.Compile(`(?i)^\**(?:from|to|subject|date|sent|cc|bcc|reply-to|re|fwd|betreff|von|an|gesendet)\**\s*: *\S`)
	greeting   = lazy.Compile(`(?i)^(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|hola|estimad[oa]s?|bonjour|chère?)\b[^.!?\n]{0,40}(?:,|!$|$)`)
	closing    = lazy.Compile(`^\p{Lu}[\p{L} ]{1,30},$`)
)

// maxMailHead is the maximum length in bytes of a line without a colon that begins a mail.
const maxMailHead = 60

// cutMails cuts a mail from its first line to the end, or to the person's words after the signature. It does
// not cut a message that is only a mail to the assistant.
func (r *messageReader) cutMails() {
	begin, header := -1, -1
	lines := r.lines()
	for i, l := range lines {
		if l.text == "" || len(l.text) > maxMailHead && !strings.Contains(l.text, ":") {
			continue
		}
		switch {
		case mailBegins.MatchString(l.text):
			begin = i
		case mailHeader.MatchString(l.text):
			if header >= 0 {
				begin = header
			}
			header = i
		default:
			header = -1
			if greeting.MatchString(l.text) && (strings.TrimSpace(r.stepStart[:l.start]) != "" || mailEnd(lines[i:]) > 0) {
				begin = i
			}
		}
		if begin >= 0 {
			break
		}
	}
	if begin < 0 {
		return
	}
	end := len(r.remaining)
	if n := mailEnd(lines[begin:]); n > 0 {
		end = lines[begin+n].start
	}
	r.cutRange(lines[begin].start, end)
	if rest := strings.TrimSpace(r.stepStart[end:]); rest != "" { // "Write a polite reply."
		l := line{rest, end + strings.Index(r.stepStart[end:], rest)}
		if found := instructionsIn(rest); len(found) > 0 && found[0].beginsLine && found[0].end == len(rest) {
			r.cutInstruction(l.start, l.endOffset())
		}
	}
}

// mailEnd returns the index of the empty line that ends a mail, or 0: the line between a block of lines
// without sentence ends (the signature) and other text.
func mailEnd(lines []line) (end int) {
	short, signed, blocks := true, false, 0
	for i, l := range lines {
		if l.text != "" {
			short = short && !strings.ContainsAny(l.text[len(l.text)-1:], ".?!:")
			signed = signed || closing.MatchString(l.text)
			continue
		}
		if i > 0 && lines[i-1].text != "" {
			if i > 2 && (signed || blocks > 0 && short) && slices.ContainsFunc(lines[i:], func(l line) bool { return l.text != "" }) {
				end = i
			}
			blocks++
		}
		short, signed = true, false
	}
	return end
}

// cutMachineText cuts blocks of code, logs and tables next to other text: most lines of the block have more
// numbers and symbols than a sentence.
func (r *messageReader) cutMachineText() {
	if !strings.Contains(strings.TrimSpace(r.stepStart), "\n\n") {
		return
	}
	from, symbolic, total := 0, 0, 0
	for _, l := range append(r.lines(), line{start: len(r.stepStart)}) {
		switch {
		case l.text != "":
			if total++; total == 1 {
				from, symbolic = l.start, 0
			}
			if isSymbolic(l.text) {
				symbolic++
			}
		case 2*symbolic > total:
			r.cutRange(from, l.start)
			fallthrough
		default:
			symbolic, total = 0, 0
		}
	}
}

var (
	// functionCall matches a function call; codeStart matches the beginnings of other lines of code.
	functionCall = lazy.Compile(`\w\(.*\)`)
	codeStart    = lazy.Compile(`^(?:(?:import|from|package|using|library) ?\(?[\w."({*]|#include|#!/|@\w+$|(?:async )?def |class \w+\W|func |type \w+ |(?:const|let|var) \w+|return\b|(?:for|while|if|elif|with|try|except|else|switch|case)\b.*[:{]$|[\w.\[\]]+ (?:[-+*/|:]?=|<-) \S|self\.)`)
)

// isSymbolic reports whether a line has more numbers and symbols than a sentence.
func isSymbolic(line string) bool {
	letters, other := 0, 0
	before := ' '
	for _, r := range line {
		number := unicode.IsDigit(r) && unicode.IsDigit(before)
		before = r
		switch {
		case number:
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case strings.ContainsRune(" ,.'’?!", r):
		default:
			other++
		}
	}
	return other > 3 && 5*other > letters || strings.Contains(line, "(") && functionCall.MatchString(line)
}

// pastedLine matches a line that people do not type: a citation, a row of a table, a log entry, a stack
// frame, JSON, code, or a line of a memory block or export.
var (
	pastedLine  = lazy.Compile(`(?i)^>|^\|.*\||^\[?\d{1,4}[-/.]\d\d?[-/.]\d{2,4},?[T ]\d\d?:\d\d|^\[[\w -]+\] (?:said|called)\b|^\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?\]?[ ,-]+\S+ ?\S* ?:|^(?:error|warn|warning|info|debug|trace|fatal)\b ?[:\[|]|^at [\w$.<>]+\(|^file "[^"]+", line \d+|^[{\[]\s*["'{\[]|^["'][\w-]+["']\s*:|^[}\]],?$|^[+-]{3} [ab]/|^@@ |^(?:import|from) [\w.]+ import\b|^(?:def|class|func|function|const|let|var|public|private|#include)\s+\S+.*[({;:]$|^\$ \S+|^https?://\S+$|^- \d{4}-\d\d-\d\d (?:[a-z]{3} )?(?:\S+ said: |summary: |shared by |(?:the )?user\b)|^<\S.*>$|"(?:memory_hits|superseded_by|observed_at|provenance|memories|target_id|score_threshold)"\s*:|loci-memory`)
	frontMatter = lazy.Compile(`(?i)^(?:id|conversation_id|observed_at|created_at|status|source|role|category|kind|tags|confidence|superseded_by|owner)\s*:\s*\S`)
)

// cutPastedLines cuts pasted lines, and exported notes from their front matter to the end.
func (r *messageReader) cutPastedLines() {
	noted, dashes := 0, -1
	for _, l := range r.lines() {
		switch {
		case l.text == "---" && dashes < 0:
			dashes = l.start
		case dashes >= 0 && frontMatter.MatchString(l.text):
			if noted++; noted == 2 {
				r.cutRange(dashes, len(r.remaining))
				return
			}
		}
		letter := l.text != "" && 'a' <= l.text[0]|0x20 && l.text[0]|0x20 <= 'z'
		if l.text == "" || letter && !strings.ContainsAny(l.text, ":({;,\t\"") && !strings.Contains(l.text, "import") {
			continue
		}
		if pastedLine.MatchString(l.text) || isValueRow(l.text) || isSymbolic(l.text) && codeStart.MatchString(l.text) {
			r.cutRange(l.start, l.endOffset())
		}
	}
}

// isValueRow reports whether a line is a row of values: "3,Ana,Lisbon,true".
func isValueRow(s string) bool {
	for _, separator := range []string{",", "\t", ";"} {
		if n := strings.Count(s, separator); n >= 3 && strings.Count(s, separator+" ") == 0 && strings.Count(s, " ") <= n {
			return true
		}
	}
	return false
}

var speaker = lazy.Compile(`^\W{0,2}(?:\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\]?\W{0,3})?((?:\p{Lu}[\p{L}.'’-]{0,20}(?: \p{Lu}[\p{L}.'’-]{0,20})?|user|assistant|human|ai|bot|me|you|them))(?: ?\([^)]{1,20}\)| said)?\W{0,2}[:：](?:\W|$)`)

// cutTranscripts cuts conversations between other speakers, from the first to the last labelled line. One
// speaker must speak twice, because a form ("Name: Ana") has each label only once.
func (r *messageReader) cutTranscripts() {
	lines := map[string]int{}
	from, to, total, repeats := -1, -1, 0, false
	for _, l := range r.lines() {
		if !strings.ContainsAny(l.text[:min(len(l.text), maxMailHead)], ":：") {
			continue
		}
		m := speaker.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		name := strings.ToLower(m[1])
		lines[name]++
		repeats = repeats || lines[name] > 1
		total++
		if from < 0 {
			from = l.start
		}
		to = l.endOffset()
	}
	isChat := lines["user"]+lines["human"] > 0 && lines["assistant"]+lines["ai"]+lines["bot"] > 0
	if isChat || len(lines) > 1 && repeats && total > 2 {
		r.cutRange(from, to)
	}
}

var (
	quotation        = lazy.Compile(`"[^"\n]+"|“[^”\n]+”|«[^»\n]+»|„[^“”\n]+[“”]`)
	rememberVerbs    = lazy.Compile(`(?i)\b(?:remember|memori[sz]e|note|save|store|keep in mind)\b`)
	textWorkVerbs    = lazy.Compile(`(?i)\b(?:translate|rephrase|re-?write|proof-?read|correct|spell|pronounce)\b[^\n"“]{0,40}$`)
	firstPersonWords = lazy.Compile(`(?i)\b(?:i|my|me|mine|we|our|im|ive)\b`)
)

// maxIntroductionBytes is the maximum number of bytes between the start of an introduction and its quotation.
const maxIntroductionBytes = 80

// cutQuotations cuts quotations in the first person, and quotations on which the message asks to work.
func (r *messageReader) cutQuotations() {
	for _, m := range quotation.FindAllStringIndex(r.stepStart, -1) {
		before := r.stepStart[max(0, m[0]-maxIntroductionBytes):m[0]]
		before = before[strings.LastIndexByte(before, '\n')+1:]
		if q := r.stepStart[m[0]:m[1]]; len(strings.Fields(q)) > 3 && firstPersonWords.MatchString(q) && !rememberVerbs.MatchString(before) || textWorkVerbs.MatchString(before) {
			r.cutRange(m[0], m[1])
		}
	}
}
