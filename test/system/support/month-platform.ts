import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import postgres, { type Sql } from 'postgres'
import { type OwnCluster, startCluster } from '../../support/cluster.ts'
import { EXAMPLE } from '../../support/platform-example.ts'
import { until } from '../../support/until.ts'

/** A change by users of the platform: what, a number from which ids follow, and a text. */
type Change = [what: string, number: number, text: string]

/** Any person with a name, any observation that is neither new nor gone for good, any of its stages, by a number. */
const PERSON = (sql: Sql, n: number) => sql`(
  select person_no from people where given <> '' order by person_no
  offset ${n} % (select count(*) from people where given <> '') limit 1)`
const OBSERVATION = (sql: Sql, n: number) => sql`(
  select observation_no from observations order by observation_no
  offset ${n} % (select count(*) from observations) limit 1)`
const STAGE = (sql: Sql, n: number) => sql`(
  select stage_no from stages order by stage_no offset ${n} % (select count(*) from stages) limit 1)`

/** An instant near a midnight of Chicago, on which the day in another time zone is another one. */
const INSTANT = (sql: Sql, n: number) =>
  sql`timestamptz '2026-04-01 04:30Z' + ${n % 97} * interval '1 day' + ${n % 3} * interval '1 hour'`

const CHANGES: Record<string, (sql: Sql, n: number, text: string) => PromiseLike<unknown>> = {
  'person renamed': (sql, n, text) =>
    sql`update people set family = ${text} where person_no = ${PERSON(sql, n)}`,
  'person left or came back': (sql, n) =>
    sql`update people set left_on = case when left_on is null then date '2026-11-20' end where person_no = ${PERSON(sql, n)}`,
  'person without a state id': (sql, n) =>
    sql`update people set state_id = nullif(${String(n % 7)}, '0') where person_no = ${PERSON(sql, n)}`,
  'district renamed': (sql, n, text) =>
    sql`update districts set title = ${text} where district_no = ${n} % 5 + 1`,
  'rubric renamed': (sql, n, text) => sql`update rubrics set label = ${text} where rubric_no = ${n} % 2 + 1`,
  'observation moved to another district': (sql, n) =>
    sql`update observations set district_no = district_no % 5 + 1 where observation_no = ${OBSERVATION(sql, n)}`,
  'observation of another teacher': (sql, n) =>
    sql`update observations set teacher_no = ${PERSON(sql, n + 3)} where observation_no = ${OBSERVATION(sql, n)}`,
  'observation by another rubric': (sql, n) =>
    sql`update observations set rubric_no = 3 - rubric_no, from_old_system = not from_old_system where observation_no = ${OBSERVATION(sql, n)}`,
  'observation removed or restored': (sql, n) =>
    sql`update observations set removed_at = case when removed_at is null then now() end where observation_no = ${OBSERVATION(sql, n)}`,
  'observation reopened': (sql, n) =>
    sql`update observations set state = 'under_way', finished_at = null where observation_no = ${OBSERVATION(sql, n)}`,
  'observation completed': (sql, n) =>
    sql`update observations set state = 'complete', finished_at = ${INSTANT(sql, n)} where observation_no = ${OBSERVATION(sql, n)}`,
  'stage renamed': (sql, n, text) =>
    sql`update stages set label = ${text}, seen_at = ${INSTANT(sql, n)} where stage_no = ${STAGE(sql, n)}`,
  'stage removed or restored': (sql, n) =>
    sql`update stages set removed_at = case when removed_at is null then now() end where stage_no = ${STAGE(sql, n)}`,
  'stage seen by another': (sql, n) =>
    sql`update stages set observer_no = ${PERSON(sql, n + 5)} where stage_no = ${STAGE(sql, n)}`,
  'stage added': (sql, n, text) => sql`
    insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at)
    select observation_no + 5, observation_no, 5, ${text}, ${PERSON(sql, n)}, ${INSTANT(sql, n)}
    from observations where observation_no = ${OBSERVATION(sql, n)}
    on conflict do nothing`,
  'observation added': (sql, n) =>
    addObservation(sql, PERSON(sql, n), [PERSON(sql, n + 1), PERSON(sql, n + 2)]),
  'person added': (sql, n, text) => sql`
    insert into people (person_no, given, family)
    select max(person_no) + 1, ${`New${n}`}, ${text} from people`,
}

/** Any change. */
export const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom(...Object.keys(CHANGES)),
  fc.nat(9999),
  fc.constantFrom('Ruiz', 'O\'Neil, "Jo"', 'Ümit', 'back\\slash'),
)

/** Adds a complete observation with a stage for each observer. */
async function addObservation(
  sql: Sql,
  teacher: ReturnType<typeof PERSON>,
  observers: ReturnType<typeof PERSON>[],
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into observations (observation_no, district_no, rubric_no, teacher_no, state, finished_at)
    select max(observation_no) + 10, 1, 1, ${teacher}, 'complete', timestamptz '2026-06-01 03:00Z' from observations
    returning observation_no::float8 as id`
  const { id } = row as { id: number }
  for (const [at, observer] of observers.entries())
    await sql`
      insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at)
      values (${id + at + 1}, ${id}, ${at + 1}, ${`Visit ${at + 1}`}, ${observer}, '2026-05-31 03:00Z')`
  return id
}

/** The example platform on a Postgres with a standby. */
export class MonthPlatform {
  private constructor(
    private primary: OwnCluster,
    private standby: OwnCluster,
    public sql: Sql,
  ) {}

  static async start(): Promise<MonthPlatform> {
    const primary = await startCluster()
    const standby = await primary.startStandby()
    const sql = connect(primary)
    for (const file of ['schema.sql', 'data.sql'])
      await sql.unsafe(readFileSync(join(EXAMPLE, file), 'utf8')).simple()
    return new MonthPlatform(primary, standby, sql)
  }

  get url(): string {
    return this.primary.url()
  }

  async change([what, number, text]: Change): Promise<void> {
    await CHANGES[what]?.(this.sql, number, text)
  }

  /**
   * Adds a person without a name with four observations: alone, in two stages, as the observer of a second stage, and one
   * that goes over to a teacher with a name later. Returns the id of the person and those of the observations.
   */
  async addNameless(): Promise<{ person: number; observations: number[] }> {
    const { sql } = this
    const [row] = await sql<{ person: number }[]>`
      insert into people (person_no, given, family) select max(person_no) + 1, '', '' from people
      returning person_no::float8 as person`
    const { person } = row as { person: number }
    const them = sql`${person}::bigint`
    const one = PERSON(sql, 1)
    const observations = [
      await addObservation(sql, them, [one]),
      await addObservation(sql, them, [one, PERSON(sql, 2)]),
      await addObservation(sql, one, [PERSON(sql, 3), them]),
      await addObservation(sql, them, [one]),
    ]
    return { person, observations }
  }

  /** Loses the primary. The standby has received all that was committed, and takes over. */
  async failOver(): Promise<void> {
    const { primary, standby, sql } = this
    const [row] = await sql<{ end: string }[]>`select pg_current_wal_lsn()::text as end`
    const onStandby = connect(standby)
    await until('the standby has all', async () => {
      const [there] = await onStandby`select pg_last_wal_replay_lsn() >= ${row?.end as string}::pg_lsn as all`
      return there?.all
    })
    await sql.end({ timeout: 1 })
    await primary.crash()
    await standby.promote()
    this.primary = standby
    this.standby = primary
    this.sql = onStandby
    await until('the standby accepts writes', async () => {
      const [there] = await onStandby`select pg_is_in_recovery() as "isStandby"`
      return !there?.isStandby
    })
  }

  async stop(): Promise<void> {
    await this.sql.end({ timeout: 1 })
    await this.standby.stop()
    await this.primary.stop()
  }
}

const connect = (cluster: OwnCluster) => postgres(cluster.url(), { max: 1, onnotice: () => {} })
