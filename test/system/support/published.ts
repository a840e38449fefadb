import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canConnect } from './connect.ts'

/** A certificate and its key, in PEM. */
export interface Pair {
  cert: string
  key: string
}

/** Texts in a file of docs/operate, with their replacements: ports, folders, names. */
export type Changes = (readonly [text: string, instead: string])[]

/** A file of docs/operate with these changes. Throws if the file does not contain a text. */
export function published(name: string, changes: Changes): string {
  let text = readFileSync(join(import.meta.dir, '..', '..', '..', 'docs', 'operate', name), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${name} has no ${JSON.stringify(from)}`)
    text = text.replaceAll(from, to)
  }
  return text
}

/** Makes a folder; with a pair, the folder has cert.pem, key.pem and both.pem. */
export function proxyFolder(name: string, pair?: Pair): string {
  const folder = mkdtempSync(join(tmpdir(), `axport-${name}-`))
  if (!pair) return folder
  writeFileSync(join(folder, 'cert.pem'), pair.cert)
  writeFileSync(join(folder, 'key.pem'), pair.key)
  writeFileSync(join(folder, 'both.pem'), pair.cert + pair.key)
  return folder
}

/**
 * Starts a proxy and waits until it accepts connections. Returns a function that stops the proxy and removes the
 * folder.
 */
export async function runProxy(
  folder: string,
  command: string[],
  port: number,
): Promise<() => Promise<void>> {
  const running = Bun.spawn(['setpriv', '--pdeathsig=TERM', ...command], {
    // Caddy stores certificates in HOME.
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

/** The base URL of a service behind a proxy, with the path prefix of the published files. */
export const proxyUrl = (port: number, pair?: Pair) =>
  `${pair ? 'https://localhost' : 'http://127.0.0.1'}:${port}/export`
