import { expect } from 'bun:test'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { axport, emptyFolder, type Running, start } from '../../support/executable.ts'
import { QUERIES } from '../../support/platform-example.ts'
import { until } from '../../support/until.ts'
import type { MonthPlatform } from './month-platform.ts'

/** What a round prints with --json. */
interface Report {
  loaded: boolean
  since: string | null
  error?: string
  rejected?: number
  notes: string[]
}

/** The end of a round that is a command. */
interface Round {
  code: number
  report: Report
  stderr: string
}

/** The feed of a platform, with --rejects: as a command for each day, or as a service. */
export class MonthFeed {
  private readonly folder = emptyFolder()
  private readonly urlFile = join(this.folder, 'platform-url')
  private readonly queries = join(this.folder, 'queries')
  private service: Running | undefined
  /** What the processes of the service have printed that have ended. */
  private printed = ''

  constructor(
    private readonly platform: MonthPlatform,
    private readonly database: { url: string; sql: Sql },
  ) {
    cpSync(QUERIES, this.queries, { recursive: true })
    this.pointToPlatform()
  }

  /** Writes the URL of the platform's present primary. */
  pointToPlatform(): void {
    writeFileSync(this.urlFile, this.platform.url)
  }

  /** Corrects a query. */
  replaceInQuery(name: string, before: string, after: string): void {
    const file = join(this.queries, name)
    const text = readFileSync(file, 'utf8')
    expect(text).toContain(before)
    writeFileSync(file, text.replace(before, after))
  }

  /** One round by the executable. */
  round(...more: string[]): Promise<Round> {
    return this.roundInto(this.database.url, ...more)
  }

  /** One round into another database. */
  async roundInto(database: string, ...more: string[]): Promise<Round> {
    const finished = await axport(this.args(...more), { env: { DATABASE_URL: database } })
    return { ...finished, report: JSON.parse(finished.stdout) as Report }
  }

  /** Loads everything that was committed before: by a round, or by the next one of the service. */
  async day(): Promise<void> {
    if (this.service) {
      // A round that is loaded now may have begun before the changes of the day.
      for (const _ of [1, 2]) {
        const last = await this.lastRound()
        await until('the service has loaded a round', async () => (await this.lastRound()) !== last, 30_000)
      }
    } else {
      const { code, report } = await this.round()
      expect({ code, report }).toMatchObject({ code: 0, report: { loaded: true } })
    }
  }

  /** Starts the service, and starts it again whenever it ends, as a service manager does. */
  async startService(): Promise<void> {
    const service = await start(this.args('--every', '1s'), { env: { DATABASE_URL: this.database.url } })
    this.service = service
    void service.finished.then(async ({ stdout }) => {
      this.printed += stdout
      if (this.service === service) await this.startService()
    })
  }

  /** Ends the service, and returns what its rounds have printed. */
  async endService(): Promise<Report[]> {
    const { service } = this
    this.service = undefined
    service?.signal('SIGTERM')
    expect((await service?.finished)?.code).toBeOneOf([0, 130])
    return this.printed
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Report)
  }

  /** The arguments of a round. */
  private args(...more: string[]): string[] {
    const from = ['import', '--from-file', this.urlFile, '--queries', this.queries, '--json']
    return [...from, '--rejects', join(this.folder, 'rejects'), '--max-rejected', '60', ...more]
  }

  /** When the last round was loaded. */
  private async lastRound(): Promise<string | undefined> {
    const [row] = await this.database.sql<{ at: string }[]>`select succeeded_at::text as at from feeds`
    return row?.at
  }
}
