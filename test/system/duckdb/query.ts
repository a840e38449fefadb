import { DuckDBInstance } from '@duckdb/node-api'

// Runs the statements in the arguments and prints the rows of each as JSON; a bigint becomes a string.
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
const answers = []
for (const statement of process.argv.slice(2))
  answers.push((await connection.runAndReadAll(statement)).getRowObjectsJson())
console.log(JSON.stringify(answers))
