import { item } from './chance.ts'
import names from './names.txt' with { type: 'text' }

/** The names of sample data and how they combine: people, organizations, products. The lists are in names.txt. */

/** A draw of at least 0 and less than 1. */
type Draw = () => number

/** A name as it is shown, and its Latin letters for an email address. */
type Word = { shown: string; latin: string }

const [, ...parts] = names.split(/^\[(.+)\]$/m)
const section = (title: string) => item(parts, parts.indexOf(title) + 1).trim()

/** `Zoë=zoe` has Latin letters that cannot be read off it; a plain word needs no `=`. */
const words = (title: string): Word[] =>
  section(title)
    .split(',')
    .map(entry => {
      const [shown = '', latin = shown] = entry.trim().split('=')
      return { shown, latin: latin.toLowerCase().replace(/[^a-z]/g, '') }
    })

/** The titles of a list of first names and of one of last names. */
const pairing = (titles: string) => {
  const [first = '', last = ''] = titles.split(', ')
  return { firsts: words(first), lasts: words(last), isFamilyFirst: first === 'East Asian first' }
}

const USUAL = pairing('first, last')
/** Each of them is as likely as the others: about one educator in a hundred. */
const UNUSUAL = section('unusual pairings').split('\n').map(pairing)
const UNUSUAL_SHARE = 0.12

/** The front of a list comes up more often than its end, as with real names: namesakes are common. */
const pick = (list: Word[], draw: Draw): Word => {
  const at = draw()
  return item(list, Math.floor(((at + at * at) / 2) * list.length))
}

/**
 * A person. The display name is not always first name, space, last name, and may hold quotes. `login` is unique only
 * together with a number behind it.
 */
export function person(draw: Draw): { name: string; first: string; last: string; login: string } {
  const roll = draw() / UNUSUAL_SHARE
  const { firsts, lasts, isFamilyFirst } = UNUSUAL[Math.floor(roll * UNUSUAL.length)] ?? USUAL
  const { shown: first, latin } = pick(firsts, draw)
  const { shown: last, latin: lastLatin } = pick(lasts, draw)
  const name = isFamilyFirst ? last + first : displayName(first, last, draw)
  return { name, first, last, login: `${latin}.${lastLatin}` }
}

function displayName(first: string, last: string, draw: Draw): string {
  const style = draw()
  if (style < 0.12) return `${first} ${'ABCDEFGHJKLMNPRSTVW'.charAt(Math.floor(draw() * 19))}. ${last}`
  if (style < 0.13) return `${first} "Coach" ${last}`
  if (style < 0.14) return `${first} ${last} Jr.`
  return `${first} ${last}`
}

const PLACES = words('places')
const KINDS = words('kinds')

/** The name of the organization at an index; no two of the first 500 are the same. */
export function organizationName(index: number): string {
  const kind = (index + Math.floor(index / PLACES.length)) % KINDS.length
  return `${item(PLACES, index % PLACES.length).shown} ${item(KINDS, kind).shown}`
}

/** All products, the most popular first; one with separately proctored parts names them. */
export const PRODUCTS: { name: string; parts: string[] }[] = section('products')
  .split('\n')
  .map(line => {
    const [name = '', parts] = line.split(': ')
    return { name, parts: parts?.split(', ') ?? [] }
  })
