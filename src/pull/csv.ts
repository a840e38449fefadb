import { stringify } from 'csv-stringify/sync'
import type { Write } from '../files.ts'
import { PART_FIELDS, type PulledPart, RECORD_FIELDS, readRecords } from './record.ts'

const RECORD_NAMES = Object.keys(RECORD_FIELDS)
const PART_NAMES = Object.keys(PART_FIELDS)

/**
 * A row a part; the fields of its record are in each of them. A record without parts has a row, too, whose cells of
 * a part are empty. Null is the empty cell.
 */
export async function writeCsv(lines: AsyncIterable<Uint8Array>, write: Write): Promise<void> {
  await write(rows([[...RECORD_NAMES, ...PART_NAMES.map(name => `part_${name}`)]]))
  for await (const chunk of lines) {
    const cells = readRecords(chunk).flatMap(record => {
      const own = RECORD_NAMES.map(name => record[name])
      const parts = record.results.length > 0 ? record.results : [{}]
      return parts.map((part: PulledPart) => [...own, ...PART_NAMES.map(name => part[name])])
    })
    await write(rows(cells))
  }
}

const rows = (cells: unknown[][]) => Buffer.from(stringify(cells))
