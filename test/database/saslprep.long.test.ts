import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import fc from 'fast-check'
import postgres, { type Sql } from 'postgres'
import { saslprep } from '../../src/database/password.ts'
import {
  LEFT_TO_RIGHT,
  NOTHING,
  PROHIBITED,
  RIGHT_TO_LEFT,
  SPACES,
  UNASSIGNED,
} from '../../src/database/unicode-3.2.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { holds } from '../support/property.ts'

/** Passwords as they are prepared for SCRAM, compared with Postgres. */

let server: OwnCluster
let sql: Sql
beforeAll(async () => {
  server = await startCluster()
  sql = postgres(server.url(), { max: 1, fetch_types: false, onnotice: () => {} })
  await sql.unsafe(`
    create role prepared;
    create function verifiers(passwords text[]) returns text[] language plpgsql as $$
    declare found text[] := '{}';
    begin
      for at in 1 .. cardinality(passwords) loop
        execute format('alter role prepared password %L', passwords[at]);
        found := found || (select rolpassword from pg_authid where rolname = 'prepared');
      end loop;
      return found;
    end $$;
    set scram_iterations = 1`)
})
afterAll(async () => {
  await sql?.end()
  await server?.stop()
})

/** Whether a verifier that Postgres made (RFC 5803) is that of these bytes. */
function isVerifierOf(verifier: string, password: Buffer): boolean {
  const [, iterations, salt, storedKey] = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/.exec(verifier) ?? []
  const salted = pbkdf2Sync(password, Buffer.from(salt ?? '', 'base64'), Number(iterations), 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  return createHash('sha256').update(clientKey).digest('base64') === storedKey
}

/** Those of some passwords that are not prepared as Postgres prepares them. */
async function differing(passwords: string[]): Promise<string[]> {
  const rows = await sql<{ verifier: string }[]>`
    select unnest(verifiers(array(select jsonb_array_elements_text(${sql.json(passwords)})))) as verifier`
  const verifiers = rows.map(({ verifier }) => verifier)
  expect(verifiers).toHaveLength(passwords.length)
  return passwords.filter(
    (password, at) => !isVerifierOf(verifiers[at] ?? '', saslprep(Buffer.from(password))),
  )
}

const TABLES = { SPACES, NOTHING, PROHIBITED, UNASSIGNED, RIGHT_TO_LEFT, LEFT_TO_RIGHT }
const isCharacter = (code: number) => code > 0 && code < 0x110000 && !(code >= 0xd800 && code < 0xe000)

describe('SASLprep is that of Postgres', () => {
  test.each(Object.entries(TABLES))('at the ends of the ranges of %s', async (_, ranges) => {
    const codes = ranges.flatMap(([first, last]) => [first - 1, first, last, last + 1]).filter(isCharacter)
    const characters = codes.map(code => String.fromCodePoint(code))
    expect(await differing(characters.map(character => `é½${character}`))).toEqual([])
    expect(await differing(characters.map(character => `שׂ½${character}ש`))).toEqual([])
  })

  const special = fc.constantFrom(...'aé½ﬁ\u0301\u00a0\u00ad\u200b\u0340㋿שׂاﷺ℅①1 \u0007👍')
  const text = fc.array(fc.oneof(special, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })), {
    minLength: 1,
    maxLength: 8,
  })

  test('for random texts', async () => {
    const texts = fc.array(text, { minLength: 100, maxLength: 100 })
    const property = fc.asyncProperty(texts, async each => {
      const passwords = each
        .map(characters => characters.join('').replaceAll('\0', ''))
        .filter(each => each !== '')
      expect(await differing(passwords)).toEqual([])
    })
    await holds(property, { runs: 50 })
  })

  test('leaves alone what is no UTF-8', () => {
    const latin1 = Buffer.from([0xe9])
    expect(saslprep(latin1)).toBe(latin1)
  })
})
