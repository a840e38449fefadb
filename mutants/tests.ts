import {
  ADMIN,
  CONTRACT,
  DOCUMENT,
  FEED,
  HTTP,
  IMPORT,
  INTEGRATIONS,
  PAGES,
  PLANS,
  POOL,
  PULL,
  QUERY,
  READ_MODEL,
  TOKENS,
} from './groups.ts'

/**
 * The tests that run for the mutants of each file: related tests that take a second or two, the quickest first, because
 * the first failure ends a trial. Slower properties are left out.
 *
 * By file, or by folder with a slash at its end; the longest that fits counts.
 */
export const TESTS: Record<string, string[]> = {
  'src/assessments/access.ts': ['contract/bearer', 'contract/provisioning', ...CONTRACT, ...PAGES],
  'src/assessments/constraints.ts': [
    'assessments/constraints',
    'contract/list-search',
    ...CONTRACT,
    ...PAGES,
  ],
  'src/assessments/search.ts': ['assessments/constraints', 'contract/list-search', ...PAGES],
  'src/assessments/columns.ts': [...CONTRACT, ...PAGES],
  'src/assessments/conditions.ts': [
    'assessments/ways',
    'contract/list-search',
    ...CONTRACT,
    ...PAGES,
    ...PLANS,
  ],
  'src/assessments/endpoints.ts': ['contract/log', 'integrations/refusals', ...CONTRACT, ...PAGES],
  'src/assessments/page-memory.ts': ['assessments/page-memory', ...PAGES, ...CONTRACT],
  'src/assessments/selection.ts': ['assessments/page-memory', ...PAGES, ...CONTRACT],
  'src/assessments/changes.ts': [...PAGES],
  'src/assessments/count.ts': ['assessments/count', ...CONTRACT, ...PAGES, ...PLANS],
  'src/assessments/mark.ts': [...PAGES],
  'src/assessments/page-arithmetic.ts': [
    'assessments/page-arithmetic',
    'assessments/paging/contradicted',
    ...PAGES,
  ],
  'src/assessments/page-plan.ts': ['assessments/page-memory', 'assessments/paging/contradicted', ...PAGES],
  'src/assessments/page-statement.ts': ['assessments/ways', ...PAGES, ...CONTRACT, ...PLANS],
  'src/assessments/page.ts': ['assessments/paging/contradicted', ...PAGES, ...CONTRACT],
  'src/assessments/read-run.ts': [...PAGES, ...CONTRACT],
  'src/assessments/records.ts': ['assessments/records', ...PAGES, ...CONTRACT, ...PLANS],
  'src/assessments/scope.ts': ['assessments/records', ...PAGES, ...CONTRACT, ...PLANS],
  'src/assessments/spread.ts': ['assessments/count', 'assessments/ways', ...PAGES, ...PLANS],
  'src/assessments/state.ts': [...PAGES, ...CONTRACT],
  'src/assessments/ways.ts': ['assessments/ways', ...PAGES, ...PLANS],
  'src/contract.ts': [
    'assessments/numbers',
    'contract/query-string',
    'contract/query-errors',
    ...DOCUMENT,
    ...CONTRACT,
    'assessments/resemblance',
  ],
  'src/assessments/query-string.ts': QUERY,
  'src/assessments/list-query.ts': QUERY,
  'src/assessments/next-link.ts': ['assessments/next-link', ...CONTRACT],
  'src/assessments/resemblance.ts': ['assessments/resemblance', 'integrations/refusals'],
  'src/http/seen-positions.ts': ['http/seen-positions', ...HTTP],
  'src/http/token-endpoint.ts': [
    ...TOKENS,
    ...DOCUMENT,
    'contract/log',
    'integrations/refusals',
    'http/shortage',
  ],
  'src/oauth/body.ts': [...TOKENS, 'http/slow-clients'],
  'src/oauth/credentials.ts': ['oauth/trouble', ...TOKENS, ...DOCUMENT, 'contract/log', 'http/shortage'],
  'src/oauth/purge.ts': ['oauth/purge'],
  'src/oauth/tokens.ts': [
    ...TOKENS,
    'oauth/purge',
    ...INTEGRATIONS,
    'integrations/rotation-races',
    'http/admin',
    'contract/log',
  ],
  'src/pull/': PULL,
  'src/import/': IMPORT,
  'src/import/csv.ts': ['import/csv-source', 'import/csv'],
  'src/import/ndjson.ts': ['import/lines', ...IMPORT],
  'src/import/source.ts': ['import/csv-source', 'import/lines', 'import/csv', ...IMPORT],
  'src/import/text.ts': ['import/lines', 'import/csv-source', ...IMPORT],
  'src/import/fields.ts': ['import/csv', ...IMPORT],
  'src/import/checks.ts': ['import/check-plans', ...IMPORT, ...FEED],
  'src/import/erased.ts': ['erasure/erase', 'erasure/loads', ...IMPORT],
  'src/import/import.ts': [...IMPORT, 'import/healing', ...FEED],
  'src/import/removals.ts': [...IMPORT, ...FEED],
  'src/import/rejects.ts': ['import/rejects', 'import/platform-rejects', ...IMPORT],
  'src/import/platform/': FEED,
  'src/http/': HTTP,
  'src/http/admin/': ADMIN,
  'src/http/openapi/': ['http/openapi', 'http/documented-record', 'http/time-zone'],
  'src/postgres/pool/': POOL,
  'db/migrations/0001_source_tables.sql': READ_MODEL,
  'db/migrations/0002_read_model.sql': [...READ_MODEL, ...CONTRACT, 'import/plans'],
  'db/migrations/0003_changes.sql': [
    ...READ_MODEL,
    ...PAGES,
    'refresh/refresh',
    'postgres/grant-loader',
    'assessments/paging/changes',
  ],
  'db/migrations/0004_writers.sql': [
    ...READ_MODEL,
    'db/writers-queue',
    ...PAGES,
    'refresh/refresh',
    'postgres/grant-loader',
    'import/plans',
  ],
  'db/migrations/0005_integrations.sql': [
    'db/constraints',
    'db/functions',
    ...INTEGRATIONS,
    ...TOKENS,
    'oauth/purge',
    'postgres/grant',
    'db/schema',
  ],
  'db/migrations/0006_feeds.sql': ['db/schema', ...FEED],
  'db/migrations/0007_integration_history.sql': [
    'db/schema',
    'integrations/history',
    ...INTEGRATIONS,
    'disclosures/disclosures',
    'postgres/grant',
  ],
  'db/migrations/0008_disclosures.sql': [
    'db/schema',
    'disclosures/disclosures',
    'http/disclosures',
    'http/recorder',
    'oauth/purge',
    'cli/disclosures-switch',
    'postgres/grant',
  ],
  'db/migrations/0009_erasures.sql': [
    'db/schema',
    'erasure/erase',
    'erasure/loads',
    'erasure/past-triggers',
    'import/platform-rejects',
    'postgres/grant',
  ],
  'db/migrations/0010_counts.sql': [
    'db/schema',
    'db/read-model',
    'assessments/count',
    'import/large',
    'refresh/refresh',
    'postgres/grant-loader',
  ],
  'db/migrations/0011_feed_rejects.sql': ['db/schema', ...FEED],
  'db/migrations/0012_proctors.sql': [...READ_MODEL, ...CONTRACT, 'import/plans'],
  'db/migrations/0013_tokens.sql': ['db/functions', ...TOKENS, ...INTEGRATIONS, 'oauth/purge', 'db/schema'],
  'db/migrations/0018_commit_receipts.sql': ['db/schema', 'postgres/transact', 'postgres/grant'],
  'db/migrations/0019_erased_export.sql': [
    ...READ_MODEL,
    ...CONTRACT,
    'erasure/past-triggers',
    'import/plans',
  ],
  'db/migrations/0020_confirmed_disclosures.sql': ['db/schema', 'http/recorder', 'http/disclosures'],
  'db/migrations/0021_log_anew.sql': ['db/functions', 'refresh/refresh', 'erasure/past-triggers'],
}

/**
 * The files of which mutants are made, as paths from `root`. The pages of src/http/docs are left out: only a browser
 * tests them.
 */
export const mutatedFiles = (root: string) =>
  ['src/**/*.ts', 'db/migrations/*.sql']
    .flatMap(pattern => [...new Bun.Glob(pattern).scanSync(root)])
    .filter(path => !path.startsWith('src/http/docs/') && keyOf(path) !== undefined)
    .sort()

/** The test files that run for the mutants of a file, each once. */
export const testsOf = (path: string) => [
  ...new Set((TESTS[keyOf(path) ?? ''] ?? []).map(name => `./test/${name}.test.ts`)),
]

/** The longest key of TESTS that is the file or a folder of it. */
const keyOf = (path: string) =>
  Object.keys(TESTS)
    .filter(key => (key.endsWith('/') ? path.startsWith(key) : path === key))
    .sort((one, other) => other.length - one.length)[0]
