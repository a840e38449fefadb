import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../support/executable.ts'

/** CSV files of all five types, with every column of theirs. */
export const FILES = {
  'organizations.csv': 'id,name\n10,Lakeside District\n',
  'products.csv': 'id,name\n1,Reading Observation\n',
  'users.csv':
    'id,name,first_name,last_name,email,seid,record_status\n501,"Ruiz, Ana M.",Ana,Ruiz,ana@example.org,0012,active\n77,Pat,,,,,\n78,Petra,,,,,archived\n',
  'assessments.csv':
    'id,user_id,organization_id,product_id,certified_at,legacy_record,proctor_id\n9001,501,10,1,2026-03-01T18:20:00Z,false,77\n9100,501,10,1,2026-03-09T00:10:00-05:00,1,\n',
  'assessment_parts.csv':
    'assessment_id,id,position,name,certified_at,proctor_id\n9100,9102,2,Part 2,2026-03-09T00:10:00-05:00,78\n9100,9101,1,Part 1,2026-03-01,77\n',
}

type Files = Record<string, string | Uint8Array>

/** A folder with these files; cleanUp() removes it. */
export function folderOf(files: Files): string {
  const folder = emptyFolder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

/** A file with these rows under the columns of FILES. Cells that a row lacks are empty. */
export function csvOf(name: keyof typeof FILES, ...rows: string[]): string {
  const [header = ''] = FILES[name].split('\n')
  const commas = (text: string) => text.replaceAll(/"[^"]*"/g, '').split(',').length - 1
  const whole = rows.map(row => row + ','.repeat(commas(header) - commas(row)))
  return `${[header, ...whole].join('\n')}\n`
}
