// Package llm accesses model servers with OpenAI's API, such as Ollama, vLLM, LM Studio, OpenRouter, Azure,
// Groq and OpenAI:
//
//	Client     sends Loci's own requests to a model (memory.LLM), with retries
//	Forwarder  forwards a client's request unchanged and without retries
//
// The package does not interpret the content of requests.
//
// # Streams
//
// Completions are streamed, since the arriving events show that a slow model is working.
//
// # Structured answers
//
// Servers differ in their support of JSON answers. A prompt with a schema is first sent with response_format
// json_schema and, if the server refuses this, with the schema in the prompt. For each model, Loci remembers
// the form that succeeded.
//
// # Errors
//
// All errors are [memory.Unavailable] and contain the server's host, status and message, but never a key.
package llm
