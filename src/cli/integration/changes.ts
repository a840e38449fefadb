import type { ExactNumber } from '../../integrations/exact-ids.ts'
import type { ChangedIds, Changes } from '../../integrations/history.ts'

/** More ids than these are counted: a scope may have thousands. */
const SHOWN = 20

/** What an event of the history changed, for people; `--json` has all of it. */
export function phrases(changes: Changes): string[] {
  const { name, purpose, contact, client_id, organizations, products, disabled_at, secrets, secret } = changes
  return [
    ...ofTexts({ name, purpose, contact, 'client id': client_id }),
    ...ofIds('organizations', organizations),
    ...ofMeaning('organizations', changes.all_organizations),
    ...ofIds('products', products),
    ...ofMeaning('products', changes.all_products),
    ...ofTexts({ 'disabled since': disabled_at }, instant),
    ...ofIds('secrets', secrets),
    ...ofTexts({ [secret === undefined ? 'it ends' : `secret ${secret} ends`]: changes.expires_at }, instant),
  ]
}

type Change = [before: string | null, after: string | null] | undefined

function ofTexts(changed: Record<string, Change>, show = (text: string) => `"${text}"`): string[] {
  return Object.entries(changed).flatMap(([what, change]) => {
    if (!change) return []
    const [before, after] = change.map(text => (text === null ? 'none' : show(text)))
    return [change[0] === null ? `${what} ${after}` : `${what} ${before} → ${after}`]
  })
}

function ofIds(what: string, ids: ChangedIds | undefined): string[] {
  return [...some(`${what} added`, ids?.added), ...some(`${what} removed`, ids?.removed)]
}

function some(what: string, ids: ExactNumber[] = []): string[] {
  if (ids.length === 0) return []
  const more = ids.length > SHOWN ? ` and ${ids.length - SHOWN} more` : ''
  return [`${what} ${ids.slice(0, SHOWN).join(',')}${more}`]
}

function ofMeaning(what: string, change: [unknown, unknown] | undefined): string[] {
  if (!change) return []
  return [change[1] === true ? `meant as all ${what}` : `no longer meant as all ${what}`]
}

/** As jsonb has an instant in UTC → to the second, as commands print it. */
const instant = (text: string) => text.replace(/(\.\d+)?\+00:00$/, 'Z')
