// Drives Loci with Vercel's AI SDK: its providers for OpenAI-compatible servers and for OpenAI, by chat and by responses.
import assert from 'node:assert/strict'
import { asked, fails, load, loci, remembers, streamed, version, weighs } from './common.mjs'

const { APICallError, embedMany, generateText, isStepCount, jsonSchema, stepCountIs, streamText, tool } = await load('ai')
const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible')
const { createOpenAI } = await load('@ai-sdk/openai')
const at = user => ({ name: 'loci', baseURL: `${loci}/v1`, apiKey: 'unused', headers: { 'X-Loci-User': user } })

async function whole(model, providerOptions) {
  const more = { model, providerOptions, maxRetries: 0 }
  const told = await generateText({ ...more, prompt: 'My cat is called Mitzi.' })
  assert.equal(told.text, 'You said: My cat is called Mitzi.')
  assert.equal(told.usage.inputTokens, 11)
  const pieces = []
  for await (const piece of streamText({ ...more, prompt: 'What is my cat called?' }).textStream) pieces.push(piece)
  streamed(pieces)
  await remembers('Mitzi')
  const error = await fails(APICallError, () => generateText({ ...more, prompt: 'too fast' }))
  assert.equal(error.statusCode, 429)
  const weighed = []
  const tools = { weigh: tool({ description: 'Weighs an animal.', inputSchema: jsonSchema(weighs), execute: async ({ animal }) => (weighed.push(animal), '4 kg') }) }
  const { text } = await generateText({ ...more, tools, prompt: 'What does my cat weigh?', stopWhen: (isStepCount ?? stepCountIs)(3) })
  assert.ok(text.startsWith('You said: ') && text.includes('4 kg'), text)
  assert.deepEqual(weighed.sort(), ['cat', 'dog'])
  assert.deepEqual((await asked()).messages.slice(-3).map(m => m.role), ['assistant', 'tool', 'tool'])
}

const compatible = createOpenAICompatible(at('compatible'))
await whole(compatible('scripted'))
await whole(createOpenAI(at('chat')).chat('scripted'))
await whole(createOpenAI(at('responses'))('scripted'), { openai: { store: false } })
// By default it refers to what the upstream would keep: a chat-only one keeps nothing, and the error says what to set.
const kept = await fails(APICallError, () => generateText({ model: createOpenAI(at('kept'))('scripted'), maxRetries: 0, messages: [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: [{ type: 'text', text: 'Hi', providerOptions: { openai: { itemId: 'msg_1' } } }] },
  { role: 'user', content: 'What is my cat called?' },
] }))
assert.ok(kept.statusCode === 400 && kept.message.includes('store: false'), kept.message)
const { embeddings } = await embedMany({ model: compatible.embeddingModel('loci/embed'), values: ['a cat', 'a train'] })
assert.ok(embeddings.length === 2 && embeddings[0].length === embeddings[1].length)
const names = ['ai', '@ai-sdk/openai-compatible', '@ai-sdk/openai']
console.log(`ok: ${names.map(n => `${n} ${version(n)}`).join(', ')}: chat and responses: generate, stream, tools, errors; embeddings`)
