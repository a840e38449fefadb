import { Option } from '@commander-js/extra-typings'
import { loginName } from '../../config.ts'
import type { CommandSql } from '../../database/transact.ts'
import { readText } from '../arguments.ts'

/** The option of each command that changes an integration. */
export const byOption = () =>
  new Option('--by <name>', 'who does this, for the history (default: your login name)').argParser(
    readText('name of --by'),
  )

/** The connections of a command, whose changes the history tells of the person in --by, or of the login name. */
export const inNameOf = (sql: CommandSql, by: string | undefined): CommandSql =>
  Object.assign(sql, { by: by ?? loginName() })
