import postgres, { type Sql } from 'postgres'

/** A node of a plan, as auto_explain logs it. Rows are those of one loop, on average. */
interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'CTE Name'?: string
  'Actual Loops': number
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** What all executions of one statement together did at the busiest node of its plans. */
export interface Touched {
  statement: string
  node: string
  rows: number
  /** All nodes of its plans: "Gather", "Seq Scan of users". */
  nodes: string[]
}

/** A connection that tells the plan of each statement that it runs, also of those in functions and for foreign keys. */
export interface Watched {
  sql: Sql
  /** The statements since the last call, by the rows that they touched: those of the busiest first. */
  takePlans(): Touched[]
  close(): Promise<void>
}

/** Opens such a connection for a superuser, with the settings of the commands that load. */
export async function watchPlans(url: string): Promise<Watched> {
  const statements = new Map<string, Map<string, number>>()
  const note = (message: string) => {
    const start = message.indexOf('{')
    if (!message.startsWith('duration:') || start < 0) return
    const logged = JSON.parse(message.slice(start)) as { 'Query Text': string; Plan: Plan }
    const statement = logged['Query Text'].replaceAll(/\s+/g, ' ').trim()
    const nodes = statements.get(statement) ?? new Map<string, number>()
    statements.set(statement, nodes)
    for (const node of nodesOf(logged.Plan))
      nodes.set(nameOf(node), (nodes.get(nameOf(node)) ?? 0) + rowsOf(node))
  }
  const sql = postgres(url, {
    max: 1,
    max_lifetime: null,
    onnotice: ({ message }) => note(message ?? ''),
    connection: { TimeZone: 'UTC', plan_cache_mode: 'force_custom_plan', jit: 'off' },
  })
  await sql`load 'auto_explain'`
  await sql`
    select set_config(name, value, false)
    from (
      values ('log_min_duration', '0'), ('log_analyze', 'on'), ('log_timing', 'off'), ('log_format', 'json'),
        ('log_nested_statements', 'on'), ('log_level', 'notice'), ('log_parameter_max_length', '0')
    ) as wanted (parameter, value)
    join pg_settings on name = 'auto_explain.' || parameter`
  const takePlans = () => {
    const touched = [...statements].map(([statement, nodes]) => {
      const [node, rows] = [...nodes].reduce((a, b) => (a[1] >= b[1] ? a : b))
      return { statement, node, rows, nodes: [...nodes.keys()] }
    })
    statements.clear()
    return touched.sort((a, b) => b.rows - a.rows)
  }
  return { sql, takePlans, close: () => sql.end({ timeout: 1 }) }
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

const nameOf = (node: Plan) =>
  [node['Node Type'], node['Relation Name'] ?? node['CTE Name']].filter(Boolean).join(' of ')

/** A loop without any row counts as one. */
const rowsOf = (node: Plan) =>
  node['Actual Loops'] *
  Math.max(
    1,
    node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Join Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0),
  )
