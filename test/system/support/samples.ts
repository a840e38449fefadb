import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../support/document.ts'
import { emptyFolder } from '../../support/executable.ts'
import { program } from '../../support/requires.ts'

const guide = readFileSync(join(ROOT, 'docs/integrate/guide.md'), 'utf8')

/** The samples of the guide in a language. */
export const samples = (language: string) =>
  [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  )

/** Writes the sample of a language to a file. @returns its path */
function written(language: string, file: string): string {
  const path = join(emptyFolder(), file)
  writeFileSync(path, samples(language)[0] ?? '')
  return path
}

/** The samples of the guide that are programs, except for C#: no machine of ours runs it. */
export const SAMPLE_PROGRAMS = [
  {
    language: 'python',
    command: () => ['python3', written('python', 'walk.py')],
    needs: [program('python3')],
  },
  { language: 'ts', command: () => [process.execPath, written('ts', 'walk.ts')], needs: [] },
  {
    language: 'go',
    command: () => ['go', 'run', written('go', 'walk.go')],
    needs: [program('go', 'golang-go')],
  },
]
