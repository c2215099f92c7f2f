// Package llm accesses model servers with OpenAI's API, such as Ollama, vLLM, LM Studio,
// OpenRouter, Azure, Groq and OpenAI, in two ways:
//
//	Client     asks a model on Loci's own behalf (memory.LLM) and retries
//	Forwarder  passes a client's request on unchanged, once
//
// It does not interpret requests, and does not read forwarded ones.
//
// # Streams
//
// Completions are streamed, to distinguish slow models from silent ones.
//
// # Structured answers
//
// Servers differ in their support of JSON answers. A prompt with a schema is tried with
// response_format json_schema, then with the schema in the prompt. The form that worked is
// remembered for each model.
//
// # Errors
//
// All errors are [memory.Unavailable] and have the server's host, status and message, but never a
// key.
package llm
