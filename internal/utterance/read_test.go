package utterance

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/memory"
)

const (
	theirs = "I live in Atlantis and my dog is called Neptune."
	ours   = "I live in Lisbon."
)

var attachedShapes = map[string]string{
	"context element":                 "<context>\n" + theirs + "\n</context>\n" + ours,
	"context before, own inline":      "<context>" + theirs + "</context> " + ours,
	"sources with ids":                `<source id="1" name="a.pdf">` + theirs + "</source>\n<source id=\"2\">" + theirs + "</source>\n" + ours,
	"documents, nested":               "<documents><document index=\"1\"><source>a.txt</source><document_content>" + theirs + "</document_content></document></documents>\n\n" + ours,
	"file":                            "<file name=\"notes.md\">\n" + theirs + "\n</file>\n" + ours,
	"attachment":                      ours + "\n<attachment type=\"text\">" + theirs + "</attachment>",
	"unknown element":                 "<zebra-stripes a=\"b\">" + theirs + "</zebra-stripes>\n" + ours,
	"element never closed":            ours + "\n<document>\n" + theirs,
	"document that closes its tag":    "<context>a</context> " + theirs + " </context>\n" + ours,
	"element in capitals":             "<CONTEXT>\n" + theirs + "\n</Context>\n" + ours,
	"web UI task template":            "### Task:\nRespond to the user query using the provided context, with citations.\n\n### Guidelines:\n- " + theirs + "\n\n<context>\n<source id=\"1\">" + theirs + "</source>\n</context>\n\n<user_query>\n" + ours + "\n</user_query>",
	"web UI template, query under it": "### Task:\nRespond to the user query using the provided context.\n### Output:\nClear.\n<context>\n" + theirs + "\n</context>\n\n### Query:\n" + ours,
	"environment details":             ours + "\n<environment_details>\n" + theirs + "\n</environment_details>",
	"system reminder":                 "<system-reminder>" + theirs + "</system-reminder>\n" + ours,
	"another memory's block":          "<user_memories>\n- " + theirs + "\n</user_memories>\n" + ours,
	"html page":                       ours + "\n<!DOCTYPE html><html><body><p>" + theirs + "</p></body></html>",
	"html fragment":                   ours + "\n<div class=\"x\"><p>" + theirs + "</p></div>",
	"use the following pieces":        "Use the following pieces of context to answer the question at the end.\n\n" + theirs + "\n\nQuestion: " + ours + " What is near?\nHelpful Answer:",
	"context information is below":    "Context information is below.\n---------------------\n" + theirs + "\n---------------------\nGiven the context information and not prior knowledge, answer the query.\nQuery: " + ours + "\nAnswer:",
	"context, then question":          "Context:\n" + theirs + "\n\nQuestion: " + ours,
	"markdown context heading":        "### Context:\n" + theirs + "\n\n### Question:\n" + ours,
	"markdown heading, no colon":      "## Context\n" + theirs + "\n## Question:\n" + ours,
	"numbered contexts":               "Context:\n[CONTEXT 0]:\n" + theirs + "\n[END CONTEXT 0]\n\nQuestion: " + ours,
	"documents heading":               "Given these documents, answer the question.\nDocuments:\n" + theirs + "\nQuestion: " + ours,
	"based on the following":          "Based on the following article:\n" + theirs + "\n\nUser question: " + ours,
	"relevant memories heading":       "Relevant memories:\n- " + theirs + "\n\nUser: " + ours,
	"memory placed in a message":      "Long-term memory (most relevant first):\n- [user] " + theirs + "\n\nCurrent message: " + ours,
	"background heading":              "Background:\n" + theirs + "\n\nMy question: " + ours,
	"chat history heading":            "Chat history:\n" + theirs + "\n\nNew message: " + ours,
	"search results":                  "Search results:\n[1] " + theirs + "\nhttps://x.example/a\n\nQuestion: " + ours,
	"tool output heading":             ours + "\n\nTool result:\n" + theirs,
	"here is the article":             ours + "\nHere is the article:\n" + theirs,
	"here's an email":                 ours + "\nHere's an email I got:\n" + theirs,
	"my sister wrote":                 ours + "\nMy sister wrote this:\n" + theirs,
	"read this":                       ours + "\nRead the following text:\n\n" + theirs,
	"file begins and ends":            "[file name]: a.txt\n[file content begin]\n" + theirs + "\n[file content end]\n" + ours,
	"web page begins and ends":        "[webpage 1 begin]\n" + theirs + "\n[webpage 1 end]\n" + ours,
	"begin document":                  "--- BEGIN DOCUMENT ---\n" + theirs + "\n--- END DOCUMENT ---\n" + ours,
	"begin without end":               ours + "\n*** Begin of transcript ***\n" + theirs,
	"file under equals signs":         ours + "\n=== notes.txt ===\n" + theirs,
	"triple quotes":                   "What does this mean?\n\"\"\"\n" + theirs + "\n\"\"\"\n" + ours,
	"code fence":                      "```\n" + theirs + "\n```\n" + ours,
	"code fence with a name":          "```md notes.md\n" + theirs + "\n```\n" + ours,
	"code fence never closed":         ours + "\n```\n" + theirs,
	"tilde fence":                     "~~~\n" + theirs + "\n~~~\n" + ours,
	"citation":                        "> " + theirs + "\n> more\n\n" + ours,
	"reply above a mail":              ours + "\n\nOn Mon, 5 Jan 2026 at 10:00, Poseidon <p@sea.example> wrote:\n" + theirs,
	"original message":                ours + "\n-----Original Message-----\n" + theirs,
	"forwarded message":               ours + "\n---------- Forwarded message ---------\n" + theirs,
	"begin forwarded message":         ours + "\nBegin forwarded message:\n\n" + theirs,
	"mail headers":                    ours + "\nFrom: Poseidon\nTo: Ana\nSubject: hello\n\n" + theirs,
	"letter":                          ours + "\nDear Sir or Madam,\n" + theirs,
	"log lines":                       ours + "\n2026-01-05 10:00:01 INFO " + theirs + "\n2026-01-05T10:00:02Z " + theirs,
	"log levels":                      ours + "\nERROR: " + theirs,
	"stack trace":                     ours + "\nTraceback (most recent call last):\n  File \"a.py\", line 1\n" + theirs,
	"diff":                            ours + "\ndiff --git a/x b/x\n@@ -1 +1 @@\n+" + theirs,
	"json":                            ours + "\n{\"text\": \"" + theirs + "\"}",
	"json lines":                      ours + "\n{\"kind\":\"fact\",\"content\":\"" + theirs + "\"}\n{\"kind\":\"fact\",\"content\":\"" + theirs + "\"}",
	"memory hits":                     ours + "\n\"memory_hits\": [{\"content\": \"" + theirs + "\"}]",
	"table":                           "| who | what |\n|---|---|\n| x | " + theirs + " |\n\n" + ours,
	"rows of values":                  ours + "\n1,x,Atlantis,true\n2,y,Atlantis,false",
	"exported note":                   ours + "\n---\nid: 0190\nstatus: active\nobserved_at: 2026-01-05\n---\n" + theirs,
	"line of a block":                 "- 2026-01-05 User lives in Atlantis\n- 2026-01-05 user said: " + theirs + "\n- 2026-01-05 summary: " + theirs + "\n" + ours,
	"chat transcript":                 ours + "\n\nBob: hi\nAmy: " + theirs + "\nBob: nice",
	"transcript with times":           ours + "\n\n[10:01] Bob: hi\n[10:02] Amy: " + theirs + "\n[10:03] Bob: nice",
	"user and assistant":              "User: " + theirs + "\nAssistant: noted\n\n" + ours,
	"human and AI":                    "Human: " + theirs + "\nAI: ok\n" + ours,
	"translate this":                  ours + " Please translate this into French: " + theirs,
	"translate quoted":                ours + " Translate \"" + theirs + "\" into French",
	"rewrite, next line":              ours + "\nRewrite the following paragraph\n" + theirs,
	"summarise":                       ours + " Can you summarize this text: " + theirs,
	"fix the grammar":                 ours + " Fix the grammar of this: " + theirs,
	"write a story":                   ours + " Write a story that begins so: " + theirs,
	"another's words in quotes":       ours + " My boss wrote \"" + theirs + "\" yesterday.",
	"curly quotes":                    ours + " He said “" + theirs + "” to all.",
	"link on its own":                 "https://atlantis.example/Atlantis\n" + ours,
	"carriage returns":                "<context>\r\n" + theirs + "\r\n</context>\r\n" + ours,
	"indented":                        "   <context>\n   " + theirs + "\n   </context>\n   " + ours,
}

func TestTextsInShapesAreNotThePersons(t *testing.T) {
	for name, message := range attachedShapes {
		left := ParseMessage(message, "").OwnText
		if strings.Contains(left, "Atlantis") || strings.Contains(left, "Neptune") {
			t.Errorf("%s: learns from another's words\n%s", name, left)
		}
		if strings.Contains(message, ours) && !strings.Contains(left, ours) {
			t.Errorf("%s: own gone: %s\n%s", name, left, message)
		}
	}
}
func TestTypedTextIsTheUsersOwn(t *testing.T) {
	for _, message := range []string{
		"I live in Lisbon.\nI have two dogs.",
		"Name: Ana\nAge: 34\nCity: Lisbon",
		"About me:\n- I live in Lisbon\n- I work as a nurse",
		"Here is some information about me:\nI live in Lisbon",
		"Context: I'm a nurse in Lisbon",
		"Background: my son has asthma",
		"my goals for 2026:\n1. run a marathon\n2. learn Japanese",
		"I use `vim` and my favourite language is Go",
		"Remember this: \"I am allergic to nuts\"",
		"I like the book \"Dune\" a lot",
		"My favourite quote is \"to be or not to be\"",
		"I <b>really</b> like jazz",
		"my budget is <500 euros and > 200",
		"I need 3 things: milk, eggs, bread",
		"On Monday I wrote: a letter to my aunt in Oslo",
		"I'm in a band; we play on Fridays, Saturdays, Sundays, and Mondays",
		"Question: I am 34, am I too old to learn to surf?",
		"Me: 34, nurse, Lisbon",
		"I was born on 2001-05-03",
		"Write me a poem. I live in Lisbon.",
		"I want to improve my French. I live in Lisbon.",
		"from now on I live in Lisbon",
		"To be honest: I hate jazz",
	} {
		if got := ParseMessage(message, "").OwnText; got != message {
			t.Errorf("of %q only %q is left", message, got)
		}
	}
}

func TestPartsOfAMessageAreReadByThemselves(t *testing.T) {
	parts := []string{"File: notes.txt\n" + theirs, ours}
	got := ParseMessage(strings.Join(parts, "\n"), ForeignRanges(parts)).OwnText
	if strings.Contains(got, "Atlantis") || !strings.Contains(got, ours) {
		t.Errorf("the person's part is %q", got)
	}
}

func TestPersonIsWhoIsNoAgent(t *testing.T) {
	for names, want := range map[string]string{
		"": "", "ana": "ana", "planner ana": "ana", "ana planner": "ana", "assistant": "assistant", "planner critic": "planner", "cook user": "user", "user_proxy cook": "user_proxy",
	} {
		if got := HumanSpeaker(strings.Fields(names)); got != want {
			t.Errorf("of %q %q is the person", names, got)
		}
	}
	if got := HumanSpeaker([]string{"", "cook"}); got != "" {
		t.Errorf("%q is the person before who has no name", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range attachedShapes {
		f.Add(s, "0-4")
	}
	f.Add("<a><b></a></b><c><c><c>", "3-1,x,9999-1")
	f.Add(strings.Repeat("Dear all,\n", maxReadBytes/8), "")
	f.Fuzz(func(t *testing.T, s, foreign string) {
		u := ParseMessage(s, memory.Ranges(foreign))
		for _, got := range []string{u.OwnText, u.OwnTextAndTasks} {
			if len(got) != len(s) {
				t.Fatalf("%q became %q", s, got)
			}
			for i := range len(got) {
				if got[i] != s[i] && got[i] != ' ' {
					t.Fatalf("%q became %q", s, got)
				}
			}
		}
	})
}
