// Drives Loci's MCP door with the TypeScript SDK: over stdio and over streamable HTTP.
// Usage: node check.mjs LOCI URL KEY
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [loci, url, key] = process.argv.slice(2)
// Where packages are is not where this file is.
const require = createRequire(join(process.cwd(), 'x.js'))
const sdk = async name => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}.js`)))
const { Client } = await sdk('index')
const { StdioClientTransport } = await sdk('stdio')
const { StreamableHTTPClientTransport } = await sdk('streamableHttp')
const version = JSON.parse(readFileSync(join(process.cwd(), 'node_modules/@modelcontextprotocol/sdk/package.json'))).version

async function whole(transport, where) {
  const client = new Client({ name: 'check', version: '1' })
  await client.connect(transport)
  const call = async (name, args = {}) => {
    const result = await client.callTool({ name, arguments: args })
    assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`)
    return result.structuredContent
  }
  assert.equal(client.getServerVersion().name, 'loci')
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map(t => t.name).sort(), ['context', 'forget', 'get', 'list', 'recall', 'remember', 'review', 'update'])
  const made = await call('remember', { content: `User plays the cello with ${where}` })
  assert.equal(made.result, 'saved')
  const found = await call('recall', { question: 'which instrument does the user play?', top_k: '3' })
  assert.ok(found.relevant && found.memories.some(m => m.id === made.id))
  assert.equal((await call('recall', { query: 'boiling point of tungsten' })).relevant, false)
  assert.match((await call('context', { topic: 'which instrument do I play?' })).context, /cello/)
  assert.ok((await call('list')).memories.length > 0)
  assert.equal((await call('get', { id: made.id })).content, made.content)
  const changed = await call('update', { id: made.id, content: `User plays the viola with ${where}` })
  assert.equal(changed.result, 'saved')
  assert.deepEqual((await call('review')).waiting, [])
  assert.match((await client.readResource({ uri: `loci://memory/${changed.id}` })).contents[0].text, /viola/)
  assert.match((await client.getPrompt({ name: 'about', arguments: { topic: 'which instrument do I play?' } })).messages[0].content.text, /viola/)
  assert.equal((await call('forget', { query: 'viola' })).result, 'would_forget')
  assert.equal((await call('forget', { ids: [changed.id], dry_run: false })).result, 'forgotten')
  assert.ok((await client.callTool({ name: 'get', arguments: { id: 'no-such-id' } })).isError)
  await client.close()
  console.log(`ok: @modelcontextprotocol/sdk ${version} (JS), ${where}`)
}

const data = mkdtempSync(join(tmpdir(), 'loci-mcp-'))
try {
  await whole(new StdioClientTransport({ command: loci, args: ['mcp', '--data', data] }), 'stdio')
} finally {
  rmSync(data, { recursive: true, force: true })
}
await whole(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }), 'http')
