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

/** A closed folder that holds BEFORE, and the credentials of an integration that may read all of it. */
async function closedFolder(): Promise<{ folder: string; credentials: Credentials }> {
  const folder = await embeddedWorld(linesOf(BEFORE))
  return { folder, credentials: await integrate(`embedded:${folder}`) }
}

const settings = (folder: string) => ({ DATABASE_URL: `embedded:${folder}` })

/** A copy as an operator makes it, with all that lies in the folder. */
async function copyOf(folder: string): Promise<string> {
  const copy = join(emptyFolder(), 'copy')
  const child = Bun.spawn(['cp', '-a', folder, copy], { stdout: 'ignore', stderr: 'pipe' })
  const complaint = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(complaint)
  return copy
}

/** Imports through the process that serves from the folder. */
async function importInto(folder: string, platform: Platform): Promise<void> {
  const { code, stderr } = await importing(`embedded:${folder}`, linesOf(platform))
  if (code !== 0) throw new Error(stderr)
}

test('a copy of a closed folder is a database of its own: both serve at the same time, and neither sees the other', async () => {
  const { folder, credentials } = await closedFolder()
  const before = await serve(settings(folder))
  const token = await newToken(before.url, credentials)
  before.signal('SIGTERM')
  expect((await before.finished).code).toBe(0)

  const copy = await copyOf(folder)
  const [original, copied] = [await serve(settings(folder)), await serve(settings(copy))]
  for (const { url } of [original, copied]) await expectPage(url, token, BEFORE)

  await importInto(folder, LATER)
  await expectPage(copied.url, token, BEFORE)
  await importInto(copy, OTHER)
  await expectPage(original.url, token, LATER)
  await expectPage(copied.url, token, OTHER)

  // A token of the one is nothing to the other; the credentials are those of both.
  const own = await newToken(original.url, credentials)
  expect((await tryList(original.url, own)).status).toBe(200)
  expect((await tryList(copied.url, own)).status).toBe(401)
  expect((await postToken(copied.url, credentials)).status).toBe(200)
})

test('a copy of a folder whose process was killed recovers as the folder does: all that was answered, and whole imports', async () => {
  const { folder, credentials } = await closedFolder()
  const service = await serve(settings(folder))
  const tokens: string[] = []
  const issuing = (async () => {
    for (;;) tokens.push(await newToken(service.url, credentials))
  })().catch(() => {})
  await until('tokens have been issued', () => tokens.length >= 20)
  // An import that has sent half of its lines and waits for the others; nobody else is answered meanwhile.
  const importing = await start(['import', '-'], { env: settings(folder), stdin: 'open' })
  await importing.stdin.write(ndjsonOf(linesOf(LATER).slice(0, 120)))
  await issuing
  service.signal('SIGKILL')
  await service.finished
  importing.stdin.end()
  expect((await importing.finished).code).toBe(1)

  const copy = await copyOf(folder)
  const [original, copied] = [await serve(settings(folder)), await serve(settings(copy))]
  for (const { url } of [original, copied]) {
    for (const token of tokens) expect((await tryList(url, token)).status).toBe(200)
    await expectServed(url, tokens[0] as string, BEFORE)
  }
  await importInto(copy, OTHER)
  await importInto(folder, LATER)
  await expectPage(original.url, tokens[0] as string, LATER)
  await expectPage(copied.url, tokens[0] as string, OTHER)
})
