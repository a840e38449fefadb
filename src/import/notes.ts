/** Names that a note lists; the others are counted. */
const LISTED = 5

/** Names that are kept for one place: there may be as many keys as lines. */
const KEPT = 100

/** Keys and columns without a meaning: the values of a misspelt one would be lost without a note. */
export class UnknownNames {
  private readonly namesOf = new Map<string, Set<string>>()

  /** @param where the place of the name, in words: "users.csv" */
  add(where: string, name: string): void {
    const names = this.namesOf.get(where) ?? new Set()
    this.namesOf.set(where, names)
    if (names.size < KEPT) names.add(printable(name))
  }

  /** A clause for each place: "unknown in users.csv, and ignored: firstname". */
  notes(): string[] {
    return [...this.namesOf].map(
      ([where, names]) => `unknown in ${where}, and ignored: ${firstNames([...names])}`,
    )
  }
}

/** Names as a note lists them: the first five, and how many more there are. */
export function firstNames(names: string[]): string {
  const more = names.length > LISTED ? ` and ${names.length - LISTED} more` : ''
  return names.slice(0, LISTED).join(', ') + more
}

/** A name of the source without control characters, which a terminal would obey. */
export const printable = (name: string) => name.replace(/[\p{C}\s]/gu, '?').slice(0, 40)
