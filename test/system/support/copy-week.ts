import { expect } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { axport, serve } from '../../support/executable.ts'
import {
  assessment,
  EDUCATOR,
  educator,
  type Line,
  multiPart,
  organization,
  PROCTOR,
  part,
  proctor,
  product,
  range,
  removal,
} from '../../support/fixtures.ts'
import { FlakyProxy } from '../../support/flaky-proxy.ts'
import { Oracle, type Scope } from '../../support/oracle.ts'
import { load, openTestDatabase, type TestDatabase } from '../../support/service.ts'
import { readPlatform } from '../../support/stored-platform.ts'
import { randomBelow } from '../../support/tier.ts'
import type { CopyKeeper, Night, StartKeeper } from './copy-keeper.ts'

/** The platform on the first day: 150 assessments of 30 educators, in four organizations, of three products. */
const ORGANIZATIONS = [10, 11, 12, 13]
const PRODUCTS = [1, 2, 3]
const EDUCATORS = Array.from({ length: 30 }, (_, at) => EDUCATOR + at)
const PROCTORS = [71, 72, 73, 74, PROCTOR]
const FIRST_ID = 9000
const COUNT = 150

const anyOf = <T>(list: readonly T[]): T => list[randomBelow(list.length)] as T

function anyAssessment(id: number, fields: Record<string, unknown> = {}): Line {
  const parts =
    randomBelow(3) > 0 ? [] : [1, 2].map(at => part(id * 10 + at, { proctor_id: anyOf(PROCTORS) }))
  const own = {
    user_id: anyOf(EDUCATORS),
    organization_id: anyOf(ORGANIZATIONS),
    product_id: anyOf(PRODUCTS),
    certified_at: new Date(Date.UTC(2025, 0, 1, 12) + randomBelow(300) * 86_400_000).toISOString(),
    ...fields,
  }
  return parts.length > 0
    ? multiPart(id, parts, own)
    : assessment(id, { proctor_id: anyOf(PROCTORS), ...own })
}

/** A service whose data changes, and a program that keeps a copy of it through a proxy. */
export class CopyWeek {
  private nextId = FIRST_ID + COUNT

  private constructor(
    private readonly database: TestDatabase,
    private readonly clientId: string,
    private secret: string,
    /** Between the program and the service. */
    readonly proxy: FlakyProxy,
    readonly keeper: CopyKeeper,
    private scope: Scope,
  ) {}

  static async start(startKeeper: StartKeeper): Promise<CopyWeek> {
    const database = await openTestDatabase()
    await load(database.sql, [
      ...ORGANIZATIONS.map(id => organization(id)),
      ...PRODUCTS.map(id => product(id)),
      ...EDUCATORS.map(id => educator(id)),
      ...PROCTORS.map(id => proctor(id)),
    ])
    await load(
      database.sql,
      range(COUNT, at => anyAssessment(FIRST_ID + at)),
    )
    const service = await serve({ DATABASE_URL: database.url })
    const scope = { organizations: ORGANIZATIONS, products: PRODUCTS }
    const { clientId, clientSecret } = await createIntegration(
      database.sql,
      'Nightly copy',
      scope.organizations.map(String),
      scope.products.map(String),
    )
    const proxy = await FlakyProxy.start(service.url)
    const keeper = await startKeeper({ baseUrl: new URL(proxy.url).origin, clientId })
    return new CopyWeek(database, clientId, clientSecret, proxy, keeper, scope)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.keeper.close()
    await this.proxy.stop()
    await this.database.close()
  }

  /** Loads lines, as the platform does. */
  import(...lines: Line[]): Promise<void> {
    return load(this.database.sql, lines)
  }

  /** What happens on any day: people are renamed, records are added late and back-dated, corrected and deleted. */
  async anyDay(): Promise<void> {
    const [one = 0, another = 0, ...others] = await this.ids()
    const name = `Renamed${randomBelow(1000)}`
    await this.import(
      educator(anyOf(EDUCATORS), { name, last_name: name }),
      anyAssessment(this.nextId++),
      anyAssessment(this.nextId++, { certified_at: '2019-05-05T12:00:00Z' }),
      anyAssessment(anyOf(others)),
      removal('assessment', one),
      removal('assessment', another),
    )
  }

  /** The ids of all assessments, in no order that means anything. */
  async ids(): Promise<number[]> {
    const rows = await this.database.sql<
      { id: string }[]
    >`select id from assessments order by id * 7919 % 1009`
    return rows.map(({ id }) => Number(id))
  }

  /** Runs a command of the operator; returns what it prints. */
  async operator(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await axport(args, { env: { DATABASE_URL: this.database.url } })
    expect({ args, code, stderr }).toMatchObject({ args, code: 0 })
    return stdout
  }

  async rotate(): Promise<string> {
    const printed = await this.operator('integration', 'rotate', this.clientId, '--json')
    return (JSON.parse(printed) as { client_secret: string }).client_secret
  }

  /** The program knows the new secret from now on. */
  learn(secret: string): void {
    this.secret = secret
  }

  async removeOrganization(id: number): Promise<void> {
    await this.operator('integration', 'scope', this.clientId, '--remove-organizations', String(id))
    this.scope = { ...this.scope, organizations: this.scope.organizations.filter(each => each !== id) }
  }

  night(options: string[] = []): Promise<Night> {
    return this.keeper.night(this.secret, options)
  }

  /** The records that the integration may read, by the specification. */
  async records(): Promise<{ id: number }[]> {
    const texts = new Oracle(await readPlatform(this.database.sql)).documents(this.scope, { lists: {} })
    return texts.map(text => JSON.parse(text)).sort((a, b) => a.id - b.id)
  }

  /** A night that succeeds, and its morning. */
  async expectEqual(options: string[] = []): Promise<void> {
    const { code, stderr } = await this.night(options)
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(await this.keeper.copy()).toEqual(await this.records())
  }

  /** A night that fails, after which the copy is as it was. */
  async expectFailure(): Promise<Night> {
    const before = await this.keeper.copy()
    const night = await this.night()
    expect(night).not.toMatchObject({ code: 0 })
    expect(await this.keeper.copy()).toEqual(before)
    return night
  }

  /** The files of the program that have a text. */
  filesWith(text: string): string[] {
    const { folder } = this.keeper
    return (readdirSync(folder, { recursive: true }) as string[]).filter(
      name =>
        statSync(join(folder, name)).isFile() && readFileSync(join(folder, name), 'latin1').includes(text),
    )
  }
}
