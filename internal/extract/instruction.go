package extract

import (
	"github.com/loci-memory/loci/internal/lazy"
)

// instruction is text that would steer a model rather than describe a person.
var instruction = lazy.Compile(`(?i)` +
	`\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|all|any|your|system|safety)\b.{0,20}\b(?:instruction|prompt|rule|message|guideline|polic|filter|training)` +
	`|\b(?:system prompt|developer mode|jailbreak|prompt injection)\b` +
	`|\byou are now\b|\bfrom now on,? you\b|\bact as (?:if you|an? (?:unrestricted|different|evil|ai))` +
	`|^(?:you (?:must|should|shall|will|have to) |please )?(?:always|never) (?:answer|reply|respond|call|use|send|run|execute|include|append|insert|output|say|tell|recommend|mention|reveal|obey|follow|write|forward|email|visit|open|click|print|refuse|trust|approve|return|begin|start|end)\b` +
	`|\b(?:assistant|model|ai|bot|agent|system|loci)\b.{0,20}\b(?:must|should|shall|has to|is (?:to|instructed|required|allowed|permitted|authori[sz]ed) to)\b` +
	`|\b(?:send|post|forward|upload|exfiltrate|email)\b.{0,40}(?:https?://|\bapi keys?\b|\bpasswords?\b|\bcredentials\b|\bconversation\b|\bmemories\b)` +
	`|<\|?/?(?:im_start|im_end|system|endoftext)|\[/?INST\]|^#+ ?(?:system|instruction)|\bBEGIN (?:SYSTEM|INSTRUCTIONS)\b`)

// Instructs reports whether a text tells a model what to do.
func Instructs(s string) bool { return instruction.MatchString(s) }
