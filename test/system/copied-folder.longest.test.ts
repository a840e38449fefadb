import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { embeddedWorld } from '../support/embedded-world.ts'
import { cleanUp, emptyFolder, serve, start } from '../support/executable.ts'
import { ndjsonOf } from '../support/fixtures.ts'
import { type Credentials, newToken, postToken, tryList } from '../support/http.ts'
import type { Platform } from '../support/oracle-records.ts'
import { until } from '../support/until.ts'
import { expectPage, expectServed } from './support/expect-served.ts'
import { importing, integrate } from './support/operations.ts'
import { linesOf, smallPlatform } from './support/small-platform.ts'

setDefaultTimeout(120_000)

afterAll(cleanUp)

const BEFORE = smallPlatform(0)
const LATER = smallPlatform(1)
const OTHER = smallPlatform(2)

/** A closed folder with BEFORE in it, and the credentials of an integration that may read everything. */
async function closedFolder(): Promise<{ folder: string; credentials: Credentials }> {
  const folder = await embeddedWorld(linesOf(BEFORE))
  return { folder, credentials: await integrate(`embedded:${folder}`) }
}

const settings = (folder: string) => ({ DATABASE_URL: `embedded:${folder}` })

/** Copies a folder with all files, as an operator would, and serves from the original and from the copy. */
async function serveCopy(folder: string) {
  const copy = join(emptyFolder(), 'copy')
  expect(Bun.spawnSync(['cp', '-a', folder, copy]).success).toBe(true)
  const [original, copied] = await Promise.all([serve(settings(folder)), serve(settings(copy))])
  return { copy, original: original.url, copied: copied.url }
}

/** Imports into a folder from which a process serves. */
async function importInto(folder: string, platform: Platform): Promise<void> {
  expect(await importing(`embedded:${folder}`, linesOf(platform))).toMatchObject({ code: 0 })
}

test('a copy of a closed folder is a separate database: both serve at the same time, and share no later changes', async () => {
  const { folder, credentials } = await closedFolder()
  const before = await serve(settings(folder))
  const token = await newToken(before.url, credentials)
  before.signal('SIGTERM')
  expect((await before.finished).code).toBe(0)

  const { copy, original, copied } = await serveCopy(folder)
  for (const url of [original, copied]) await expectPage(url, token, BEFORE)

  await importInto(folder, LATER)
  await expectPage(copied, token, BEFORE)
  await importInto(copy, OTHER)
  await expectPage(original, token, LATER)
  await expectPage(copied, token, OTHER)

  // Credentials from before the copy are valid in both; a token that one of them issues is unknown to the other.
  const own = await newToken(original, credentials)
  expect((await tryList(original, own)).status).toBe(200)
  expect((await tryList(copied, own)).status).toBe(401)
  expect((await postToken(copied, credentials)).status).toBe(200)
})

test('a folder whose process was killed, and a copy of that folder, recover all issued tokens and only complete imports', async () => {
  const { folder, credentials } = await closedFolder()
  const service = await serve({ ...settings(folder) })
  const tokens: string[] = []
  const issuing = (async () => {
    for (;;) tokens.push(await newToken(service.url, credentials))
  })().catch(() => {})
  await until('tokens have been issued', () => tokens.length >= 20)
  // An import that has sent half of its lines and waits for more. Other requests wait for the import.
  const importing = await start(['import', '-'], { env: settings(folder), stdin: 'open' })
  await importing.stdin.write(ndjsonOf(linesOf(LATER).slice(0, 120)))
  await issuing
  service.signal('SIGKILL')
  await service.finished
  importing.stdin.end()
  expect((await importing.finished).code).toBe(1)

  const { copy, original, copied } = await serveCopy(folder)
  for (const url of [original, copied]) {
    for (const token of tokens) expect((await tryList(url, token)).status).toBe(200)
    await expectServed(url, tokens[0] as string, BEFORE)
  }
  await importInto(copy, OTHER)
  await importInto(folder, LATER)
  await expectPage(original, tokens[0] as string, LATER)
  await expectPage(copied, tokens[0] as string, OTHER)
})
