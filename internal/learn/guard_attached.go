package learn

import (
	"strings"

	"github.com/loci-memory/loci/internal/lazy"
	"github.com/loci-memory/loci/internal/text"
)

// blankAttached blanks, byte for byte, what stands in a user's message and is not
// in their own words: documents that a front end put there, templates around them,
// mails, logs, code, tables, transcripts, citations, text that is handed over to be
// worked on, and what Loci itself wrote out. It would rather lose a person's words
// than take another's for them: what has a beginning and no end goes to the end,
// and an end counts where it comes last, so that no document closes its own tag.
func blankAttached(b []byte) {
	s := string(b)
	for _, find := range []func(string) []text.Span{codeBlocks, elements, betweenMarks, sections, mails, handedOver, quotedSpeech, pastedLines, transcripts} {
		spans := find(s)
		for _, span := range spans {
			fill(b[span.Start:span.End], ' ')
		}
		if len(spans) > 0 {
			s = string(b)
		}
	}
}

func rest(s string, from int) []text.Span {
	if strings.TrimSpace(s[from:]) == "" {
		return nil
	}
	return []text.Span{{Start: from, End: len(s)}}
}

// eachLine calls yield for each line with where it begins, without white space
// around it.
func eachLine(s string, yield func(start int, line string)) {
	at := 0
	for line := range strings.Lines(s) {
		trimmed := strings.TrimLeft(line, " \t")
		yield(at+len(line)-len(trimmed), strings.TrimRight(trimmed, " \t\r\n"))
		at += len(line)
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// codeBlocks are what stands between lines of ``` or ~~~, and triple quotes.
func codeBlocks(s string) []text.Span {
	var out []text.Span
	open, mark := -1, ""
	eachLine(s, func(start int, line string) {
		switch {
		case mark == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			if strings.Count(line, line[:3]) > 1 {
				out = append(out, text.Span{Start: start, End: start + len(line)})
				return
			}
			open, mark = start, line[:3]
		case mark != "" && strings.HasPrefix(line, mark):
			out = append(out, text.Span{Start: open, End: start + len(line)})
			mark = ""
		}
	})
	if mark != "" {
		out = append(out, rest(s, open)...)
	}
	for _, quotes := range []string{`"""`, `'''`} {
		if i := strings.Index(s, quotes); i >= 0 {
			end := len(s)
			if j := strings.LastIndex(s, quotes); j > i {
				end = j + len(quotes)
			}
			out = append(out, text.Span{Start: i, End: end})
		}
	}
	return out
}

// Elements by name: those whose words are the user's, those that only dress words,
// and those that hold a document even if they are never closed.
var (
	ownElements   = lazy.Words("user_query query user_question question user_message user_input user_request user_prompt message input prompt request task")
	plainElements = lazy.Words("b i u s em strong sub sup small mark br hr a span font kbd q img")
	docElements   = lazy.Words(`context document documents doc docs source sources file files attachment attachments excerpt search_results results tool_result
		web page webpage article email transcript data knowledge retrieved environment_details file_content file_contents selection code pre html body
		system memory memories history conversation chat_history instructions quote blockquote loci-memory document_content system-reminder
		retrieved_context open_files attached_files uploaded_files user_memories user_profile`)
)

var openTag = lazy.Compile(`<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?/?>|<!(?i:doctype)[^>]*>`)

// elements are what stands between tags. The last closing tag of a name counts.
func elements(s string) []text.Span {
	if strings.IndexByte(s, '<') < 0 {
		return nil
	}
	lower := lowerASCII(s)
	closes := map[string]int{} // by name: where the last closing tag is
	var out []text.Span
	end := 0
	for _, m := range openTag.FindAllStringSubmatchIndex(s, -1) {
		if m[0] < end {
			continue
		}
		if m[2] < 0 { // a page of HTML
			if i := strings.LastIndex(lower, "</html>"); i > m[0] {
				end = i + len("</html>")
				out = append(out, text.Span{Start: m[0], End: end})
				continue
			}
			return append(out, rest(s, m[0])...)
		}
		name := strings.ToLower(s[m[2]:m[3]])
		if plainElements.Has(name) {
			continue
		}
		last, known := closes[name]
		if !known {
			last = strings.LastIndex(lower, "</"+name+">")
			closes[name] = last
		}
		switch {
		case strings.HasPrefix(name, "user_") && ownElements.Has(name) && last >= m[1]: // nothing else is the user's
			return append(out, text.Span{Start: 0, End: m[1]}, text.Span{Start: last, End: len(s)})
		case ownElements.Has(name):
			out = append(out, text.Span{Start: m[0], End: m[1]})
			if last > 0 {
				out = append(out, text.Span{Start: last, End: last + len(name) + 3})
			}
		case last >= m[1]:
			end = last + len(name) + 3
			out = append(out, text.Span{Start: m[0], End: end})
		case docElements.Has(name) && s[m[1]-2] != '/':
			return append(out, rest(s, m[0])...)
		}
	}
	return out
}

// lowerASCII returns s with small ASCII letters, byte for byte.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

var (
	beginMark = lazy.Compile(`(?i)^[\W_]*(?:begin(?:ning)?|start)(?: of)? (?:the )?(?:context|document|file|text|article|email|mail|message|page|transcript|data|content|source|input|log|excerpt|memory|memories|search|results?|quote|certificate|pgp)\b.*$|^\[[^\]]*\b(?:begin|start)\]|^\[context \d+\]:?$|^(?:={3,}|-{3,}|\*{3,}|#{3,}) ?[^=*#-]{1,60}\.\w{1,5} ?(?:={3,}|-{3,}|\*{3,}|#{3,})?$|^-{10,}$|^={10,}$`)
	endMark   = lazy.Compile(`(?i)^[\W_]*end(?:ing)?(?: of)? (?:the )?(?:context|document|file|text|article|email|mail|message|page|transcript|data|content|source|input|log|excerpt|memory|memories|search|results?|quote|certificate|pgp)\b.*$|^\[[^\]]*\bend\]|^\[end context \d+\]$|^-{10,}$|^={10,}$`)
)

// betweenMarks is from the first line that begins a document to the last that ends
// one.
func betweenMarks(s string) []text.Span {
	first, last := -1, -1
	eachLine(s, func(start int, line string) {
		switch {
		case line == "" || isLetter(line[0]) && !hasAny(line, "begin", "Begin", "start", "Start", "end", "BEGIN", "START", "END"):
		case first < 0 && beginMark.MatchString(line):
			first = start
		case first >= 0 && endMark.MatchString(line):
			last = start + len(line)
		}
	})
	switch {
	case first < 0:
		return nil
	case last < 0:
		return sectionFrom(s, first)
	}
	return []text.Span{{Start: first, End: last}}
}

const documents = `(?:contexts?|documents?|docs|passages?|articles?|texts?|e-?mails?|mails?|messages?|files?|excerpts?|snippets?|transcripts?|logs?|conversations?|chats?|sources?|search results?|results?|papers?|reports?|letters?|posts?|tweets?|reviews?|pages?|websites?|code|data|dataset|story|lyrics|poem|abstract|job (?:description|posting|ad)|descriptions?|output|error|stack trace|memories|information|knowledge|dialogue|thread|quotes?|recipe|contract|minutes)`

var (
	// heading names a document that follows.
	heading = lazy.Compile(`(?i)^(?:#+\s*|\*\*|\[|-\s)?\s*(?:(?:retrieved|relevant|additional|background|provided|supporting|attached|previous|input|source|reference|uploaded|given|chat|conversation|long-term|stored|user)\s+)?(?:` + documents + `|background|references?|attachments?|contents?|history|conversation history|memory|profile|tool results?|observation|instructions?|guidelines?|output|format|examples?|rules|system|persona)(?:\s+(?:\d+|history|block|information|context|results?))?(?:\s*\([^)]*\))?\s*(?:\*\*|\])?\s*:`)
	mdTitle = lazy.Compile(`(?i)^#+\s*(?:task|guidelines|context|instructions?|output|examples?|documents?|sources?|search results|relevant memory|relevant memories|memory|memories|background|chat history|history|rules|references?)\b[\w ]*:?$`)
	// intro leads to a document in a sentence.
	intro     = lazy.Compile(`(?i)^(?:[^.!?\n]{0,60}[,;.!] )?(?:please )?(?:use|using|given|based on|consider|considering|according to|refer(?:ring)? to|read|reading|here(?:['’]s| is| are)|below (?:is|are)|the following|this is|these are|context information|i (?:got|received|found|have)|my \w+ (?:sent|wrote|said)|see|attached|check|answer|look at|from|it says|he (?:wrote|said)|she (?:wrote|said)|they (?:wrote|said))\b[^\n]{0,100}\b(?:` + documents + `|this|below|following|wrote|says|said)\b[^\n]{0,60}[:：]\s*$|(?i)^use (?:the|these|only) [^\n]{0,60}\b(?:context|documents?|passages?|information|sources?|pieces)\b`)
	ownIntro  = lazy.Compile(`(?i)\babout (?:me|myself|us|my)\b|\bmy (?:own |personal |current |basic )*(?:info\w*|details|profile|background|data|bio|preferences?|situation|setup|family|allergies|schedule|goals?|medications?)\b`)
	ownWords  = lazy.Compile(`(?i)^[\W_]*(?:(?:user(?:['’]s)?|my|the|current|final|actual|new|human) )?(?:question|query|request|message|prompt|ask|user|human|me|user input|now|my question is)\s*(?:\*\*)?\s*[:：]`)
	firstSaid = lazy.Compile(`(?i)^(?:hi|hello|hey)?[\s,!]*(?:i|i['’]m|i['’]ve|my|we|our)\b`)
)

// sections are documents under a heading or after "use the following context", up
// to the last line that says where the user's own words begin, or to the end.
func sections(s string) []text.Span {
	first := -1
	eachLine(s, func(start int, line string) {
		if first >= 0 || !strings.ContainsAny(line, ":：#") && !strings.HasPrefix(line, "Use ") && !strings.HasPrefix(line, "use ") {
			return
		}
		switch m := heading.FindStringIndex(line); {
		case m != nil && strings.TrimSpace(line[m[1]:]) != "" && firstSaid.MatchString(strings.TrimSpace(line[m[1]:])):
		case m != nil && !ownIntro.MatchString(line), mdTitle.MatchString(line), intro.MatchString(line) && !ownIntro.MatchString(line):
			first = start
		}
	})
	if first < 0 {
		return nil
	}
	return sectionFrom(s, first)
}

// sectionFrom is what stands from a heading on, up to the user's own words.
func sectionFrom(s string, first int) []text.Span {
	own := -1
	eachLine(s, func(start int, line string) {
		if start <= first || !strings.ContainsAny(line, ":：") {
			return
		}
		if m := ownWords.FindStringIndex(line); m != nil {
			own = start + m[1]
		}
	})
	if own < 0 {
		return rest(s, first)
	}
	return []text.Span{{Start: first, End: own}}
}

var (
	mailBegins = lazy.Compile(`(?i)^[->\s]*(?:-{2,}\s*)?(?:original message|forwarded message|begin forwarded message|weitergeleitete nachricht|ursprüngliche nachricht)\b|^(?:on|am|le|el) .{0,80}[\d@].{0,80}\b(?:wrote|schrieb|a écrit|escribió)\s*:$|^(?:sent from my \w+)$|^(?:dear|to whom it may concern)\b.{0,60}[,:]?$|^(?:diff --git|commit [0-9a-f]{7,40}$|traceback \(most recent call last\))`)
	mailHeader = lazy.Compile(`(?i)^\**(?:from|to|subject|date|sent|cc|bcc|reply-to|betreff|von|an|gesendet)\**\s*:`)
)

// mails are letters and mails, from their first line to the end.
func mails(s string) []text.Span {
	found, header := -1, -1
	eachLine(s, func(start int, line string) {
		switch {
		case found >= 0, line == "", isLetter(line[0]) && !strings.ContainsAny(line, ":,") && !hasAny(line, "message", "Message", "from my", "git", "commit", "concern", "ear "):
		case mailBegins.MatchString(line):
			found = start
		case mailHeader.MatchString(line):
			if header >= 0 {
				found = header
			}
			header = start
		default:
			header = -1
		}
	})
	if found < 0 {
		return nil
	}
	return rest(s, found)
}

var (
	handing = lazy.Compile(`(?i)(?:^|[.!?\n]\s*|\b(?:please|you|me|help|to) )(?:(?:translate|re-?write|rephrase|proof-?read|paraphrase|summari[sz]e|edit|correct|polish|improve|shorten|grade|classify|convert|fix (?:the |my |this )?(?:grammar|spelling|text|typos))\b[^\n:.!?"“]{0,120}[:\n"“]|(?:write|draft|compose|generate|continue|complete|finish|analy[sz]e|review|explain)\b[^\n:.!?]{0,80}:|(?:role-?play|pretend)\b)|\btl;?dr\b`)
	asText  = lazy.Compile(`(?i)\b(?:translate|rephrase|rewrite|spell|pronounce)\b[^\n"“]{0,40}$`)
)

// handedOver is text that somebody is asked to work on: "translate this: …".
func handedOver(s string) []text.Span {
	if !hasAny(strings.ToLower(s), "translat", "write", "rephras", "proof", "paraphras", "summar", "edit", "correct", "polish", "improve", "shorten",
		"grade", "classif", "convert", "fix", "draft", "compose", "generat", "continue", "complete", "finish", "analy", "review", "explain", "play", "pretend", "tldr", "tl;dr") {
		return nil
	}
	m := handing.FindStringIndex(s)
	if m == nil {
		return nil
	}
	from := m[1]
	if from > 0 && from <= len(s) && (s[from-1] == '"' || strings.HasSuffix(s[:from], "“")) {
		return rest(s, m[0]+len(s[m[0]:])-len(strings.TrimLeft(s[m[0]:], " .!?\n")))
	}
	return rest(s, from)
}

var speechMarks = lazy.Compile(`"[^"\n]+"|“[^”\n]+”|«[^»\n]+»`)

// nearby is how far before a quotation the words that explain it may stand.
const nearby = 80

var keepsQuote = lazy.Compile(`(?i)\b(?:remember|memori[sz]e|note|save|store|keep in mind)\b`)

// quotedSpeech is what stands in quotation marks and speaks of itself: the words of
// somebody else, or of a text.
func quotedSpeech(s string) []text.Span {
	if !strings.ContainsAny(s, "\"“«") {
		return nil
	}
	var out []text.Span
	for _, m := range speechMarks.FindAllStringIndex(s, -1) {
		line := s[max(0, m[0]-nearby):m[0]]
		line = line[strings.LastIndexByte(line, '\n')+1:]
		if q := s[m[0]:m[1]]; len(strings.Fields(q)) > 3 && firstPerson(q) && !keepsQuote.MatchString(line) || asText.MatchString(line) {
			out = append(out, text.Span{Start: m[0], End: m[1]})
		}
	}
	return out
}

var (
	// pastedLine is a line that nobody types: a citation, a table's row, an entry of
	// a log, a frame of a stack, JSON, a line of a memory block or of its export.
	pastedLine  = lazy.Compile(`(?i)^>|^\|.*\||^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|^\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?\]?[ ,-]+\S+ ?\S* ?:|^(?:error|warn|warning|info|debug|trace|fatal)\b ?[:\[|]|^at [\w$.<>]+\(|^file "[^"]+", line \d+|^[{\[]\s*["'{\[]|^["'][\w-]+["']\s*:|^[}\]],?$|^[+-]{3} [ab]/|^@@ |^(?:import|from) [\w.]+ import\b|^(?:def|class|func|function|const|let|var|public|private|#include)\s+\S+.*[({;:]$|^\$ \S+|^https?://\S+$|^\[?(?:file ?name|url|title|link)\]?\s*:|^- \d{4}-\d\d-\d\d (?:[a-z]{3} )?(?:\S+ said: |summary: |shared by |(?:the )?user\b)|^<\S.*>$`)
	frontMatter = lazy.Compile(`(?i)^(?:id|conversation_id|observed_at|created_at|status|source|role|category|kind|tags|confidence|superseded_by|owner)\s*:\s*\S`)
	exported    = lazy.Compile(`(?i)"(?:memory_hits|superseded_by|observed_at|provenance|memories|target_id|score_threshold)"\s*:|loci-memory`)
)

// pastedLines are such lines, and all after the front matter of an exported note.
func pastedLines(s string) []text.Span {
	var out []text.Span
	noted, dashes := 0, -1
	note := -1
	eachLine(s, func(start int, line string) {
		switch {
		case line == "---":
			if dashes < 0 {
				dashes = start
			}
		case dashes >= 0 && frontMatter.MatchString(line):
			if noted++; noted >= 2 && note < 0 {
				note = dashes
			}
		}
		if line == "" || isLetter(line[0]) && !strings.ContainsAny(line, ":({;,\t\"") && !hasAny(line, "http", "import") {
			return
		}
		if pastedLine.MatchString(line) || hasAny(line, "\":", "\" :", "loci-") && exported.MatchString(line) || separated(line) {
			out = append(out, text.Span{Start: start, End: start + len(line)})
		}
	})
	if note >= 0 {
		out = append(out, rest(s, note)...)
	}
	return out
}

// separated reports whether a line is a row of values: "3,Ana,Lisbon,true".
func separated(line string) bool {
	for _, by := range []string{",", "\t", ";"} {
		if n := strings.Count(line, by); n >= 3 && strings.Count(line, by+" ") == 0 && strings.Count(line, " ") <= n {
			return true
		}
	}
	return false
}

var turnOf = lazy.Compile(`^\W{0,2}(?:\[?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?\]?\W{0,3})?((?:\p{Lu}[\p{L}.'’-]{0,20}(?: \p{Lu}[\p{L}.'’-]{0,20})?|user|assistant|human|ai|bot|me|you|them))(?: ?\([^)]{1,20}\))?\W{0,2}[:：](?:\W|$)`)

// transcripts are conversations of others, from the first of their lines to the
// last: of two speakers, one speaks twice. A form ("Name: Ana") has each label once.
func transcripts(s string) []text.Span {
	lines := map[string]int{}
	first, last, all, twice := -1, -1, 0, false
	eachLine(s, func(start int, line string) {
		if !strings.ContainsAny(line, ":：") {
			return
		}
		m := turnOf.FindStringSubmatch(line)
		if m == nil {
			return
		}
		who := strings.ToLower(m[1])
		lines[who]++
		twice = twice || lines[who] > 1
		all++
		if first < 0 {
			first = start
		}
		last = start + len(line)
	})
	talk := lines["user"] > 0 && lines["assistant"]+lines["ai"]+lines["bot"] > 0 || lines["human"] > 0 && lines["ai"]+lines["assistant"] > 0
	if !talk && (len(lines) < 2 || !twice || all < 3) {
		return nil
	}
	return []text.Span{{Start: first, End: last}}
}

// hasAny reports whether s has one of the words.
func hasAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
