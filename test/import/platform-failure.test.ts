import { expect, test } from 'bun:test'
import { queryFailure, unreachable } from '../../src/import/platform/failure.ts'

const QUERY = { file: 'users.sql', type: 'user', text: 'select 1', digest: '' } as const

/** The message for an error of the platform's server with this code and message. */
const messageFor = (code: string, message: string) =>
  (queryFailure({ name: 'PostgresError', code, message }, QUERY, '') as Error).message

test.each([
  ['invalid input syntax for type integer: "Ada King"', 'invalid input syntax for type integer'],
  ['ungültige Eingabesyntax für Typ integer: »Ada King«', 'ungültige Eingabesyntax für Typ integer'],
  [
    'syntaxe en entrée invalide pour le type integer : « Ada King »',
    'syntaxe en entrée invalide pour le type integer ',
  ],
  ['value "Ada King" is out of range for type integer', 'value … is out of range for type integer'],
  ['Wert »Ada King« ist außerhalb des gültigen Bereichs', 'Wert … ist außerhalb des gültigen Bereichs'],
  ['la valeur « Ada King » est en dehors des limites', 'la valeur … est en dehors des limites'],
  ['型integerの不正な入力構文："Ada King"', '型integerの不正な入力構文'],
])(
  'an error in data is reported without the value of the row, in the language of the server: %s',
  (message, shown) => {
    const reported = messageFor('22P02', message)
    expect(reported).not.toContain('Ada')
    expect(reported.startsWith(`users.sql: ${shown}`)).toBe(true)
  },
)

test('an error raised by a function of the platform shows its code alone; an error in the query shows its text', () => {
  expect(messageFor('P0001', 'Ada King has no email')).toBe(
    'users.sql: the platform refused (SQLSTATE P0001)',
  )
  expect(messageFor('42703', 'column "given" does not exist')).toStartWith(
    'users.sql: column "given" does not exist (SQLSTATE 42703): ',
  )
  expect(messageFor('42501', 'permission denied for table people')).toStartWith(
    'users.sql: permission denied for table people (SQLSTATE 42501): grant it to the role',
  )
})

test('a server that lacks a function of Postgres itself is told as the platform, and not as one that refuses connections', () => {
  const error = {
    name: 'PostgresError',
    code: '42883',
    message: 'unknown function: pg_last_xact_replay_timestamp()',
  }
  expect(unreachable(error).message).toBe(
    'cannot read the platform: it lacks something that every Postgres has (SQLSTATE 42883): is Postgres itself behind the URL of the platform?',
  )
})
