import { Database } from 'bun:sqlite'
import { sha256 } from '../random.ts'

/** What a record is, compared with the records of another file. */
type Kind = 'added' | 'changed' | 'same'

/**
 * The records of a file by id, each as eight bytes of the SHA-256 of its line: a million take 30 MB. Ids have 64 bits, and
 * SQLite keeps them in a B-tree, without an object for each.
 */
export class Digests {
  readonly #database = new Database(':memory:', { safeIntegers: true })
  readonly #add
  readonly #take
  /** Records that have been added and not been taken. */
  size = 0

  constructor() {
    // One transaction that never ends, without a journal, which would be a second copy.
    this.#database.run('pragma journal_mode = off; begin')
    this.#database.run('create table records (id integer primary key, digest blob not null)')
    this.#add = this.#database.query('insert or replace into records (id, digest) values (?, ?)')
    this.#take = this.#database.query<{ digest: Uint8Array }, [bigint]>(
      'delete from records where id = ? returning digest',
    )
  }

  add(id: number | bigint, line: string): void {
    this.#add.run(BigInt(id), digestOf(line))
    this.size++
  }

  /** Removes the record with this id, and compares it with a line. */
  take(id: number | bigint, line: string): Kind {
    const row = this.#take.get(BigInt(id))
    if (row === null) return 'added'
    this.size--
    return digestOf(line).equals(row.digest) ? 'same' : 'changed'
  }

  /** The ids that have not been taken, in ascending order. */
  *ids(): Generator<bigint> {
    const rows = this.#database.query<{ id: bigint }, []>('select id from records order by id').iterate()
    for (const { id } of rows) yield id
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}

const digestOf = (line: string): Buffer => sha256(line).subarray(0, 8)
