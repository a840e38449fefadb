import { DuckDBInstance } from '@duckdb/node-api'

// Prints the rows of each statement in its arguments as JSON; a bigint is text.
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const answers = []
for (const statement of process.argv.slice(2))
  answers.push((await connection.runAndReadAll(statement)).getRowObjectsJson())
console.log(JSON.stringify(answers))
