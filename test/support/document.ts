import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The root of the project. */
export const ROOT = join(import.meta.dir, '..', '..')

/** The text of a page in docs/operate. */
export const pageOf = (name: string) => readFileSync(join(ROOT, 'docs', 'operate', name), 'utf8')

/** The text of docs/operate/feed.md. */
const FEED = pageOf('feed.md')

/** The text of docs/operate/data.md. */
export const DATA = pageOf('data.md')

/** The text of docs/integrate/pull.md. */
export const PULL = readFileSync(join(ROOT, 'docs', 'integrate', 'pull.md'), 'utf8')

/** The text of docs/integrate/sync.md. */
export const SYNC = readFileSync(join(ROOT, 'docs', 'integrate', 'sync.md'), 'utf8')

/** The code blocks of one language (`sh`, `sql`, `ini`) under a heading of a page (default: feed.md), in their order. */
export function codeUnder(heading: string, language: string, page = FEED): string[] {
  const [, section = ''] = page.split(new RegExp(`\n##+ ${heading}\n`))
  const [own = ''] = section.split(/\n##+ /)
  return [...own.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, code]) => code as string,
  )
}
