/** Names that are told of one kind; the others are counted. */
const MOST_TOLD = 5

/** Names that are remembered of one kind: keys may be as many as lines. */
const MOST_KEPT = 100

/** Keys and columns that mean nothing: a typo in one would else lose its values in silence. */
export class UnknownNames {
  private readonly namesOf = new Map<string, Set<string>>()

  /** @param where whose name it is, in words: "users.csv" */
  add(where: string, name: string): void {
    const names = this.namesOf.get(where) ?? new Set()
    this.namesOf.set(where, names)
    if (names.size < MOST_KEPT) names.add(shown(name))
  }

  /** A clause for each place, as "unknown in users.csv, and ignored: firstname". */
  notes(): string[] {
    return [...this.namesOf].map(([where, names]) => {
      const more = names.size > MOST_TOLD ? ` and ${names.size - MOST_TOLD} more` : ''
      return `unknown in ${where}, and ignored: ${[...names].slice(0, MOST_TOLD).join(', ')}${more}`
    })
  }
}

/** A name comes from the source: a terminal is not to obey it. */
export const shown = (name: string) => name.replace(/[\p{C}\s]/gu, '?').slice(0, 40)
