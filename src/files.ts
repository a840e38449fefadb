import fs from 'node:fs'
import { Failure } from './errors.ts'

/** The text of a file. @throws Failure if it cannot be read, with a `subject` as "TLS_KEY_FILE names key.pem, which" */
export function readNamed(file: string, subject: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(`${subject} cannot be read (${(error as { code?: string }).code})`)
  }
}

/** The same without white space around it. @throws Failure also if there is no other text */
export function readTrimmed(file: string, subject: string): string {
  const text = readNamed(file, subject).trim()
  if (text === '') throw new Failure(`${subject} is empty`)
  return text
}
