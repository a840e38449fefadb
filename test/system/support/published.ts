import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canConnect } from './connect.ts'

/** A certificate and its key, PEM. */
export interface Pair {
  cert: string
  key: string
}

/** What stands in docs/operate, and what stands in its place here: ports, folders, names. */
export type Changes = (readonly [text: string, instead: string])[]

/** A file of docs/operate with these changes. Throws where a text is not in it. */
export function published(name: string, changes: Changes): string {
  let text = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'operate', name), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${name} has no ${JSON.stringify(from)}`)
    text = text.replaceAll(from, to)
  }
  return text
}

/** A new folder; with a pair, it has cert.pem, key.pem, and both.pem. */
export function proxyFolder(name: string, pair?: Pair): string {
  const folder = mkdtempSync(join(tmpdir(), `axport-${name}-`))
  if (!pair) return folder
  writeFileSync(join(folder, 'cert.pem'), pair.cert)
  writeFileSync(join(folder, 'key.pem'), pair.key)
  writeFileSync(join(folder, 'both.pem'), pair.cert + pair.key)
  return folder
}

/** Runs a proxy until it takes connections; returns how it is stopped, and its folder removed. */
export async function runProxy(
  folder: string,
  command: string[],
  port: number,
): Promise<() => Promise<void>> {
  const running = Bun.spawn(['setpriv', '--pdeathsig=TERM', ...command], {
    // Where Caddy keeps what it would fetch.
    env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin', HOME: folder },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  await canConnect(port)
  return async () => {
    running.kill()
    await running.exited
    rmSync(folder, { recursive: true })
  }
}

/** Where a proxy shows the service: the prefix of the published files. */
export const proxyUrl = (port: number, pair?: Pair) =>
  `${pair ? 'https://localhost' : 'http://127.0.0.1'}:${port}/export`
