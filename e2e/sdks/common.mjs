// What the JavaScript scripts share: where Loci is, what the upstream was asked, and the packages,
// which are in the working directory.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const loci = process.env.LOCI
export const weighs = { type: 'object', properties: { animal: { type: 'string' } }, required: ['animal'], additionalProperties: false }
const require = createRequire(join(process.cwd(), 'x.js'))
export const load = async name => import(pathToFileURL(require.resolve(name)))
export const version = name => JSON.parse(readFileSync(join(process.cwd(), 'node_modules', name, 'package.json'))).version

// asked returns the last request that reached the upstream.
export const asked = async () => (await (await fetch(`${process.env.UPSTREAM}/asked`)).json()).at(-1)

export async function remembers(fact) {
  const sent = JSON.stringify(await asked())
  assert.ok(sent.includes(fact), `${fact} is missing: ${sent}`)
}

// streamed checks that an answer came in pieces, and is whole.
export function streamed(pieces) {
  const said = pieces.filter(p => p)
  assert.ok(said.length > 2 && said.join('').startsWith('You said: '), JSON.stringify(pieces))
}

// fails returns the error of a call, which is of that class and no other of the client's.
export async function fails(kind, call) {
  let got
  try {
    got = await call()
  } catch (e) {
    assert.ok(e instanceof kind, `${kind.name}: ${e?.stack}`)
    return e
  }
  assert.fail(`no ${kind.name}: ${JSON.stringify(got)}`)
}
