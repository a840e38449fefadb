import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { useNotes } from '../support/notes.ts'

const notes = useNotes()

describe('a folder', () => {
  test('that is new is made with its parents, and an interrupted first start is started over', async () => {
    const dir = join(notes.root, 'new/er')
    const unfinished = join(dir, 'pglite.new')
    mkdirSync(unfinished, { recursive: true })
    writeFileSync(join(unfinished, 'PG_VERSION'), '18\n')
    const sql = notes.pool(await notes.open(dir))
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    expect(existsSync(unfinished)).toBe(false)
  })
})
