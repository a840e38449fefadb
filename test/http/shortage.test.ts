import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { postToken } from '../support/http.ts'
import { type Served, useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })

async function ready({ admin }: Served) {
  const answer = await fetch(`${admin}/ready`)
  const { checks } = (await answer.json()) as { checks: { check: string; status: string; detail?: string }[] }
  return { status: answer.status, wrong: checks.filter(({ status }) => status === 'wrong') }
}

/** The messages of the log from warnings upwards, and the messages about the end of a shortage. */
const messages = (running: Served) =>
  running.log().flatMap(({ level, msg }) => (Number(level) >= 40 || /again$/.test(msg) ? [msg] : []))

const accept = async () => {
  await world.sql`drop function if exists refuse cascade`
}
afterEach(accept)

test.each([
  ['53100', 'the disk of the database is full: no tokens can be issued'],
  ['53200', 'the database is out of memory'],
])(
  'SQLSTATE %s is logged once, counted, and makes /ready a 503 until a write succeeds',
  async (code, what) => {
    const running = await world.serve()
    const wrong = [{ check: 'writable', status: 'wrong', detail: what }]
    expect(await ready(running)).toEqual({ status: 200, wrong: [] })
    await world.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'short' using errcode = '${code}'; end $$;
      create trigger refuse before insert on access_tokens for each row execute function refuse()`)
    for (let time = 0; time < 5; time++)
      expect((await postToken(running.url, world.credentials)).status).toBe(503)
    for (let time = 0; time < 2; time++) expect(await ready(running)).toEqual({ status: 503, wrong })
    expect((await world.list(running)).status).toBe(200)
    const metrics = await (await fetch(`${running.admin}/metrics`)).text()
    const [, shortages] = /^axport_database_shortages_total (\d+)$/m.exec(metrics) ?? []
    expect(Number(shortages)).toBeGreaterThanOrEqual(5)
    expect(messages(running)).toEqual([what])

    await accept()
    // No token is requested in the meantime.
    expect(await ready(running)).toEqual({ status: 200, wrong: [] })
    expect(messages(running)).toEqual([what, 'the database takes writes again'])
    await running.end()
  },
)
