import { readFileSync, realpathSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { isDevice, putInPlace, writeDraft } from '../files.ts'
import { sha256 } from '../random.ts'
import { type Asked, differenceOf } from './asked.ts'

/** What a file has, as its companion says. */
interface Content {
  records: number
  /** The SHA-256 of the lines, uncompressed, as hex digits. */
  sha256: string
}

/**
 * FILE.pull, beside the FILE of each pull with --changes. By it the next pull knows what FILE is: other filters must not
 * look like a mass deletion, and records behind a lost end of FILE must not be forgotten: they have to be removed.
 */
interface Companion extends Content {
  asked: Asked
}

/** The file of --previous, with what it has to have. */
export interface Previous extends Content {
  /** Behind all links. */
  path: string
}

export const companionOf = (path: string) => `${path}.pull`

/** How errors of --previous end. */
export const ANEW = 'to begin anew, with an empty copy, give --previous /dev/null'

/** Finds the previous file of a pull. @throws Failure unless that pull asked for the same, in whatever order */
export function findPrevious(given: string, asked: Asked): Previous {
  // /dev/null: there are no records, which could be mistaken for others.
  if (isDevice(given)) return { path: given, records: 0, sha256: sha256('').toString('hex') }
  const path = realPath(given)
  const text = readIfThere(companionOf(path))
  if (text === undefined)
    throw new Failure(
      `beside ${path} there is no ${companionOf(path)}, which pull --changes leaves there: move both together; ${ANEW}`,
    )
  const companion = parse(text)
  if (!companion) throw new Failure(`${companionOf(path)} is damaged; ${ANEW}`)
  const difference = differenceOf(asked, companion.asked, ['address', 'client', 'filters'])
  if (difference !== undefined)
    throw new Failure(`${path} is for ${difference}, so it does not show what was removed; ${ANEW}`)
  return { path, records: companion.records, sha256: companion.sha256 }
}

function realPath(given: string): string {
  try {
    return realpathSync(given)
  } catch (error) {
    throw notRead(given, error)
  }
}

function notRead(path: string, error: unknown): Failure {
  const { code } = error as { code?: string }
  return code === 'ENOENT'
    ? new Failure(`there is no ${path}: name the FILE of the last pull as --previous; ${ANEW}`)
    : new Failure(`${path} cannot be read (${code})`)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined
    throw notRead(path, error)
  }
}

function parse(text: string): Companion | undefined {
  try {
    const companion = JSON.parse(text) as Companion
    return typeof companion.asked?.address === 'string' ? companion : undefined
  } catch {
    return undefined
  }
}

/** Leaves the companion of an output that is about to be put in place. @throws the error of the system */
export async function writeCompanion(output: string, companion: Companion): Promise<void> {
  const path = companionOf(output)
  await writeDraft(path, async draft => {
    draft.write(Buffer.from(`${JSON.stringify(companion)}\n`))
    await putInPlace(draft.descriptor, draft.path, path)
  })
}
