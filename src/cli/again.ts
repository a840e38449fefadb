import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { credentialsFolder, setting } from '../config.ts'

/** From here the units get their secrets, each under the name of its file. */
const SECRETS = '/etc/axport'

/**
 * The command that this process runs, with one more option, as somebody types it on this machine. It runs once, without
 * --every. Under systemd it names the files of the secrets themselves: their copies are there only while the unit runs.
 * @param args the words after axport
 * @param option an option with its value, as "--max-removed 43", in the place of the one that was given
 * @param secrets the folder of the secrets
 */
export function again(args: string[], option: string, secrets = SECRETS): string {
  const [command = '', ...rest] = args
  const dropped = ['--every', option.split(' ')[0]]
  const kept = rest.filter(
    (word, at) => !dropped.some(name => [word, rest[at - 1]].includes(name) || word.startsWith(`${name}=`)),
  )
  const file = setting('DATABASE_URL_FILE')
  const words = kept.map(word => quoted(original(word, secrets)))
  const database = file === undefined ? [] : [`DATABASE_URL_FILE=${quoted(original(file, secrets))}`]
  return [...database, 'axport', command, option, ...words].join(' ')
}

/** The file of which systemd has handed over a copy; any other word as it is. */
function original(word: string, secrets: string): string {
  const file = join(secrets, basename(word))
  return dirname(word) === credentialsFolder() && existsSync(file) ? file : word
}

/** A word as a shell reads it. */
const quoted = (word: string) =>
  /^[\w%+,./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
