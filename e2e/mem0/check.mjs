// Calls each method of mem0's JavaScript client.
// Usage: node check.mjs KEY URL...
// Prints what each method does: works, or 501 for what Loci does not have.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [key, ...urls] = process.argv.slice(2)
// Where packages are is not where this file is.
const require = createRequire(join(process.cwd(), 'x.js'))
const { MemoryClient } = require('mem0ai')
const version = JSON.parse(readFileSync(join(process.cwd(), 'node_modules/mem0ai/package.json'))).version

async function whole(url) {
  const client = new MemoryClient({ apiKey: key, host: url })
  const did = {}
  const call = async (name, ...args) => {
    const result = await client[name](...args)
    did[name] = 'works'
    return result
  }
  const refuses = async (code, name, ...args) => {
    await assert.rejects(client[name](...args), e => e.errorCode === code && JSON.parse(e.message).detail.length > 20, `${name}: ${code}`)
  }
  const lacks = async (name, ...args) => {
    await refuses('HTTP_501', name, ...args)
    did[name] = '501'
  }
  const texts = list => list.results.map(m => m.memory)
  const alice = { user_id: 'alice' }

  await call('ping')
  assert.ok(client.organizationId && client.projectId)
  const made = await call('add', [{ role: 'user', content: 'My sister Mia lives in Lisbon and I am allergic to peanuts.' }], { userId: 'alice', metadata: { topicName: 'family' } })
  assert.equal(made.status, 'SUCCEEDED')
  assert.ok(made.eventId && made.results.length > 0)
  const tea = await call('add', [{ role: 'user', content: 'The teapot is blue' }], { userId: 'alice', runId: 'r1', agentId: 'butler', infer: false })
  const id = tea.results[0].id
  await call('add', [{ role: 'user', content: 'Bob keeps bees' }], { userId: 'bob', infer: false })
  const found = await call('search', 'what is she allergic to?', { filters: alice, topK: 5 })
  assert.match(found.results[0].memory, /peanuts/)
  assert.equal(found.results[0].metadata.topicName, 'family')
  const every = await call('getAll', { filters: alice, page: 1, pageSize: 2 })
  assert.ok(every.count >= 2 && every.results.length === 2)
  const some = await call('getAll', { filters: { AND: [alice, { run_id: { in: ['r1'] } }] } })
  assert.deepEqual(texts(some), ['The teapot is blue'])
  assert.equal((await call('get', id)).agentId, 'butler')
  assert.equal((await call('update', id, { text: 'The teapot is green', metadata: { k: 'v' } })).memory, 'The teapot is green')
  await call('batchUpdate', [{ memoryId: id, text: 'The teapot is red' }])
  await call('feedback', { memoryId: id, feedback: 'NEGATIVE', feedbackReason: 'it is not' })
  assert.deepEqual((await call('history', id)).slice(0, 2).map(h => h.event), ['ADD', 'UPDATE'])
  const entities = await call('users', { page: 1, pageSize: 50 })
  for (const name of ['alice', 'bob']) assert.ok(entities.results.some(e => e.type === 'user' && e.name === name), name)
  assert.equal((await call('getProfile', { entityId: 'alice' })).entityType, 'user')
  assert.ok((await call('getProject', { fields: ['name'] })).name)
  await call('batchDelete', [id])
  await refuses('HTTP_404', 'get', id)
  await call('delete', made.results[0].id, { deleteLinked: true })
  await call('deleteAll', { userId: 'alice' })
  assert.equal((await call('getAll', { filters: alice })).count, 0)
  await call('deleteUser', { entity_id: 'bob', entity_type: 'user' })
  assert.equal((await call('getAll', { filters: { user_id: 'bob' } })).count, 0)
  await call('add', [{ role: 'user', content: 'The last one' }], { userId: 'alice', infer: false })
  await call('deleteUsers')
  assert.equal((await call('users')).count, 0)

  await call('updateProject', { customInstructions: 'only boats', customCategories: [{ boats: 'what floats' }] })
  const set = await call('getProject', {})
  assert.equal(set.customInstructions ?? set.custom_instructions, 'only boats')
  await lacks('getWebhooks')
  await lacks('createWebhook', { name: 'hook', url: 'http://localhost', eventTypes: ['memory_add'] })
  await lacks('updateWebhook', { webhookId: '7', name: 'hook' })
  await lacks('deleteWebhook', { webhookId: '7' })
  await lacks('generateProfile', { entityId: 'alice' })
  await lacks('sampleProfiles', { limit: 1 })
  await lacks('getProfileJob', 'j1')
  await lacks('getProfileSettings')
  await lacks('updateProfileSettings', { enabled: true })
  await lacks('createMemoryExport', { schema: {}, filters: alice })
  await lacks('getMemoryExport', { filters: alice })
  const left = Object.getOwnPropertyNames(MemoryClient.prototype).filter(n => n !== 'constructor' && !n.startsWith('_') && !(n in did))
  assert.deepEqual(left, [], 'not called')
  return did
}

let did
for (const url of urls) {
  const here = await whole(url)
  if (did) assert.deepEqual(here, did, `${url} does otherwise`)
  did = here
}
for (const name of Object.keys(did).sort()) console.log(`${name.padEnd(30)} ${did[name]}`)
console.log(`ok: mem0ai ${version} for JavaScript, at ${urls.length} addresses`)
