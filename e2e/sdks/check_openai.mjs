// Drives Loci with OpenAI's SDK for JavaScript: chat, responses, embeddings.
import assert from 'node:assert/strict'
import { asked, fails, load, loci, remembers, streamed, version, weighs } from './common.mjs'

const { default: OpenAI } = await load('openai')
const as = user => new OpenAI({ baseURL: `${loci}/v1`, apiKey: 'unused', maxRetries: 0, defaultHeaders: { 'X-Loci-User': user } })
const said = content => ({ model: 'scripted', messages: [{ role: 'user', content }] })

let client = as('chat')
const told = await client.chat.completions.create(said('My cat is called Mitzi.'))
assert.equal(told.choices[0].message.content, 'You said: My cat is called Mitzi.')
let pieces = []
for await (const chunk of await client.chat.completions.create({ ...said('What is my cat called?'), stream: true, memory_hits: 'stream' })) {
  pieces.push(chunk.choices[0]?.delta.content)
  if (chunk.memory_hits) assert.match(JSON.stringify(chunk.memory_hits), /Mitzi/)
}
streamed(pieces)
await remembers('Mitzi')
assert.equal((await fails(OpenAI.RateLimitError, () => client.chat.completions.create(said('too fast')))).status, 429)
const weighed = []
const run = client.chat.completions.runTools({
  ...said('What does my cat weigh?'),
  tools: [{ type: 'function', function: { name: 'weigh', description: 'Weighs an animal.', parameters: weighs, parse: JSON.parse, function: ({ animal }) => (weighed.push(animal), '4 kg') } }],
})
assert.equal(await run.finalContent(), 'You said: 4 kg')
assert.deepEqual(weighed, ['cat', 'dog'])

client = as('responses')
assert.equal((await client.responses.create({ model: 'scripted', input: 'My dog is called Rex.' })).output_text, 'You said: My dog is called Rex.')
pieces = []
for await (const event of await client.responses.create({ model: 'scripted', input: 'What is my dog called?', stream: true })) {
  if (event.type === 'response.output_text.delta') pieces.push(event.delta)
}
streamed(pieces)
await remembers('Rex')
const tools = [{ type: 'function', name: 'weigh', description: 'Weighs an animal.', parameters: weighs, strict: true }]
const input = [{ role: 'user', content: 'What does my dog weigh?' }]
const { output } = await client.responses.create({ model: 'scripted', input, tools })
const calls = output.filter(item => item.type === 'function_call')
assert.equal(calls.length, 2)
input.push(...output, ...calls.map(call => ({ type: 'function_call_output', call_id: call.call_id, output: '9 kg' })))
assert.equal((await client.responses.create({ model: 'scripted', input, tools })).output_text, 'You said: 9 kg')
assert.deepEqual((await asked()).messages.slice(-3).map(m => m.role), ['assistant', 'tool', 'tool'])
await fails(OpenAI.RateLimitError, () => client.responses.create({ model: 'scripted', input: 'too fast' }))

const { data } = await client.embeddings.create({ model: 'loci/embed', input: ['a cat', 'a train'] })
assert.ok(data.length === 2 && data[0].embedding.length > 0 && data[0].embedding.length === data[1].embedding.length)
console.log(`ok: openai ${version('openai')} (JS): chat and responses: create, stream, tools, errors; embeddings; hits in a stream`)
