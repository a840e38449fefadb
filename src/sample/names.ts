import { below, type Draw, item } from './chance.ts'
import names from './names.txt' with { type: 'text' }

/** The names of sample data and how they combine: people, organizations, products. The lists are in names.txt. */

const [, ...parts] = names.split(/^\[(.+)\]$/m)
const section = (title: string) => item(parts, parts.indexOf(title) + 1).trim()
const list = (title: string) => section(title).split(/,\s+/)

/** The titles of a list of first names and of one of last names. */
function pairing(titles: string) {
  const [first = '', last = ''] = titles.split(', ')
  return { firsts: list(first), lasts: list(last), isFamilyFirst: first === 'East Asian first' }
}

const USUAL = pairing('first, last')
/** Each of them is as likely as the others: about one educator in a hundred. */
const UNUSUAL = section('unusual pairings').split('\n').map(pairing)
const UNUSUAL_SHARE = 0.12

/** The front of a list comes up more often than its end, as with real names: namesakes are common. */
function pick(list: string[], draw: Draw): string {
  const at = draw()
  return item(list, Math.floor(((at + at * at) / 2) * list.length))
}

/** The names of a person. The display name is not always first name, space, last name. */
export function person(draw: Draw): Record<'name' | 'first_name' | 'last_name', string> {
  const roll = draw() / UNUSUAL_SHARE
  const { firsts, lasts, isFamilyFirst } = UNUSUAL[Math.floor(roll * UNUSUAL.length)] ?? USUAL
  const first_name = pick(firsts, draw)
  const last_name = pick(lasts, draw)
  const initial = draw() < 0.12 ? ` ${'ABCDEFGHJKLMNPRSTVW'.charAt(below(19, draw))}.` : ''
  const name = isFamilyFirst ? last_name + first_name : `${first_name}${initial} ${last_name}`
  return { name, first_name, last_name }
}

const PLACES = list('places')
const KINDS = list('kinds')

/** The name of the organization at an index; no two of the first 500 are the same. */
export function organizationName(index: number): string {
  const kind = (index + Math.floor(index / PLACES.length)) % KINDS.length
  return `${item(PLACES, index % PLACES.length)} ${item(KINDS, kind)}`
}

/** All products, the most popular first; one with separately proctored parts names them. */
export const PRODUCTS: { name: string; parts: string[] }[] = section('products')
  .split('\n')
  .map(line => {
    const [name = '', parts] = line.split(': ')
    return { name, parts: parts?.split(', ') ?? [] }
  })
