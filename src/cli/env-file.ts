import { Option } from '@commander-js/extra-typings'
import { readNamed } from '../files.ts'

/**
 * The option of commands that look at the settings of a service which runs elsewhere than in this shell. Given several
 * times, a later file wins, as in a unit.
 */
export const envFileOption = () =>
  new Option(
    '--env-file <file>',
    "settings of this file instead of the environment: one of systemd, or a service's /proc/PID/environ; a later file wins",
  ).argParser((file: string, before: string[] | undefined) => [...(before ?? []), file])

/** The variables of a file. @throws Failure if it cannot be read */
export const readEnvFile = (file: string) => parseEnvFile(readNamed(file, `--env-file names ${file}, which`))

/**
 * Reads variables in the form of systemd's EnvironmentFile (systemd.exec(5)), or as the kernel shows the environment of a
 * process, with a NUL after each. Of a variable that stands there twice, the last value counts.
 */
export function parseEnvFile(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  if (text.includes('\0')) {
    for (const [, name = '', value = ''] of text.matchAll(/([^=\0]+)=([^\0]*)\0?/g)) found[name] = value
    return found
  }
  for (const { 1: name, 2: quoted = '', 3: plain = '' } of text.replaceAll('\r\n', '\n').matchAll(LINE))
    if (name !== undefined) found[name] = unquoted(quoted) + escapedOnly(plain).trimEnd()
  return found
}

/**
 * A comment, an assignment or another line, with the lines that continue it. Quotes count at the start of a value alone;
 * elsewhere they are characters of it.
 */
const LINE =
  /[ \t]*(?:[#;].*|([A-Za-z_]\w*)[ \t]*=[ \t]*((?:(?:"(?:\\[\s\S]|[^"\\])*"|'[^']*')[ \t]*)*)((?:\\[\s\S]|[^\\\n])*)|.+)(?:\n|$)/g

const unquoted = (text: string) =>
  text.replaceAll(/(?:"((?:\\[\s\S]|[^"\\])*)"|'([^']*)')[ \t]*/g, (_, double, single) =>
    double === undefined ? single : double.replaceAll(/\\(?:\n|(["\\`$]))/g, '$1'),
  )

/** A backslash keeps the character after it, and takes a line break away. */
const escapedOnly = (text: string) => text.replaceAll(/\\([\s\S])/g, (_, kept) => (kept === '\n' ? '' : kept))
