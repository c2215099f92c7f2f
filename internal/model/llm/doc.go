// Package llm accesses model servers with OpenAI's API, such as Ollama, vLLM, LM Studio,
// OpenRouter, Azure, Groq and OpenAI, in two ways:
//
//	Client     sends Loci's own requests to a model (memory.LLM), and retries
//	Forwarder  forwards a client's request unchanged, once
//
// The package does not interpret requests. It does not read forwarded requests.
//
// # Streams
//
// Completions are streamed, to distinguish slow models from silent ones.
//
// # Structured answers
//
// Servers differ in their support of JSON answers. A prompt with a schema is first sent with response_format
// json_schema, then with the schema in the prompt. Loci remembers for each model which form worked.
//
// # Errors
//
// All errors are [memory.Unavailable] and contain the server's host, status and message, but never a key.
package llm
