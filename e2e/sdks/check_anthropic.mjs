// Drives Loci with Anthropic's SDK for JavaScript.
import assert from 'node:assert/strict'
import { asked, fails, load, loci, remembers, streamed, version, weighs } from './common.mjs'

const { default: Anthropic } = await load('@anthropic-ai/sdk')
const client = new Anthropic({ baseURL: loci, apiKey: 'unused', maxRetries: 0, defaultHeaders: { 'X-Loci-User': 'ana' } })
const say = (content, more = {}) => ({ model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content }], ...more })

const told = await client.messages.create(say('My cat is called Mitzi.'))
assert.equal(told.content[0].text, 'You said: My cat is called Mitzi.')
assert.deepEqual([told.stop_reason, told.usage.input_tokens, told.usage.output_tokens], ['end_turn', 11, 7])
const pieces = []
const stream = client.messages.stream(say('What is my cat called?')).on('text', text => pieces.push(text))
assert.equal((await stream.finalMessage()).stop_reason, 'end_turn')
streamed(pieces)
await remembers('Mitzi')
const tools = [{ name: 'weigh', description: 'Weighs an animal.', input_schema: weighs }]
const first = say('What does my cat weigh?', { tools })
const called = await client.messages.stream(first).finalMessage()
const calls = called.content.filter(block => block.type === 'tool_use')
assert.deepEqual(calls.map(call => call.input), [{ animal: 'cat' }, { animal: 'dog' }])
first.messages.push({ role: 'assistant', content: called.content }, { role: 'user', content: calls.map(call => ({ type: 'tool_result', tool_use_id: call.id, content: '4 kg' })) })
assert.equal((await client.messages.create(first)).content[0].text, 'You said: 4 kg')
assert.deepEqual((await asked()).messages.slice(-3).map(m => m.role), ['assistant', 'tool', 'tool'])
const error = await fails(Anthropic.RateLimitError, () => client.messages.create(say('too fast')))
assert.equal(error.error.type, 'error')
await fails(Anthropic.BadRequestError, () => client.messages.create(say('x', { tools: [{ type: 'bash_20250124', name: 'bash' }] })))
console.log(`ok: @anthropic-ai/sdk ${version('@anthropic-ai/sdk')} (JS): create, stream, tools, errors`)
