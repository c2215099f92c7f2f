// Package llm speaks to model servers in OpenAI's dialect, as Ollama, vLLM,
// LM Studio, OpenRouter, Azure, Groq and OpenAI do, in two ways:
//
//	Client     asks a model something of Loci's own (memory.LLM) and retries
//	Forwarder  passes a client's request on as it is, once
//
// It does not know what is asked, and reads nothing of what is forwarded.
//
// # Streams
//
// A completion is asked for as a stream, so that a slow model is told from a silent one.
//
// # Structured answers
//
// Servers differ in what they take for an answer in JSON. A prompt with a schema
// is tried as response_format json_schema, then in words alone. What worked
// is remembered per model and tried first the next time.
//
// # Errors
//
// All are [memory.Unavailable], name the server by its host, and say its status
// and what it said. No key is ever part of one.
package llm
