/** A node of explain (verbose, format json), as far as it is read here. */
export interface PlanNode {
  'Node Type': string
  Schema?: string
  'Relation Name'?: string
  /** Unique in a plan. */
  Alias?: string
  Output?: string[]
  Plans?: PlanNode[]
  [detail: string]: unknown
}

const SINCE = 'axport.since'
const LOSES =
  'an assessment that is given with some of its parts loses the others; choose parts by their assessment, as in docs/operate/feed.md'

/**
 * A warning if a round could give an assessment without all of its parts; undefined if nothing suggests it. It compares
 * the tables whose rows the two queries choose by axport.since. The plans are of queries that select the id alone.
 */
export function partsWarning(parts: PlanNode, assessments?: PlanNode): string | undefined {
  if (!usesSince(parts)) return undefined
  if (!assessments || !usesSince(assessments))
    return `assessment_parts.sql uses axport.since and assessments.sql does not: ${LOSES}`
  return isByOwnChange(parts, assessments)
    ? `assessment_parts.sql chooses parts by their own change (axport.since): ${LOSES}`
    : undefined
}

const usesSince = (plan: PlanNode): boolean => JSON.stringify(plan).includes(SINCE)

function isByOwnChange(parts: PlanNode, assessments: PlanNode): boolean {
  const tables = tablesOf(parts)
  const others = tablesOf(assessments)
  const [chosen, otherChosen] = [chosenBySince(parts), chosenBySince(assessments)]
  // A parameter may hide the conditions.
  if (chosen.size === 0 || otherChosen.size === 0) return areDisjoint(tables.values(), others.values())
  const ids = tablesAt(givesId(parts).intersection(chosen), tables)
  // Parts that are stored in the row of their assessment change with it.
  const own = ids.difference(tablesAt(givesId(assessments), others))
  return own.size > 0 || areDisjoint(tablesAt(chosen, tables), tablesAt(otherChosen, others))
}

/** The tables that a plan reads, by their aliases. */
const tablesOf = (plan: PlanNode): Map<string, string> =>
  new Map(
    nodesOf(plan).flatMap(({ Alias, Schema, 'Relation Name': name }) =>
      Alias === undefined || name === undefined ? [] : [[Alias, `${Schema}.${name}`] as const],
    ),
  )

/** The aliases in conditions on axport.since. */
function chosenBySince(plan: PlanNode): Set<string> {
  const conditions = nodesOf(plan).flatMap(node =>
    Object.entries(node).flatMap(([key, value]) => (/ Cond$|Filter$/.test(key) ? [String(value)] : [])),
  )
  const terms = conditions.flatMap(text => text.split(/ AND | OR /))
  return new Set(terms.filter(term => term.includes(SINCE)).flatMap(aliasesIn))
}

/** The aliases that the values of the output come from. */
function givesId(plan: PlanNode): Set<string> {
  const { Output, Plans = [] } = plan
  // Append shows no output, and the one of a subquery names itself.
  if (Output === undefined || plan['Node Type'] === 'Subquery Scan')
    return new Set(Plans.flatMap(child => [...givesId(child)]))
  return new Set(Output.flatMap(aliasesIn))
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** What stands before a point in the text of an expression, but not in its strings. */
const aliasesIn = (expression: string): string[] =>
  [
    ...expression.replaceAll(/'(?:[^']|'')*'/g, '').matchAll(/(?:"((?:[^"]|"")+)"|([\p{L}\p{N}_$]+))\./gu),
  ].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? (plain as string))

const tablesAt = (aliases: Set<string>, tables: Map<string, string>): Set<string> =>
  new Set([...aliases].flatMap(alias => tables.get(alias) ?? []))

const areDisjoint = (some: Iterable<string>, others: Iterable<string>): boolean =>
  new Set(some).isDisjointFrom(new Set(others))
