/**
 * The tests that run for the mutants of each file: related tests that take a second or two, the quickest first, because
 * the first failure ends a trial. Slower properties are left out.
 */

const CONTRACT = [
  'contract/list-record',
  'contract/list-filters',
  'contract/list-sort',
  'contract/list-paging',
  'contract/list-search',
  'contract/list-dates',
  'contract/query-string',
  'contract/query-errors',
  'contract/retrieve',
]

const PAGES = [
  'assessments/paging/corrected',
  'assessments/paging/live-tokens',
  'assessments/paging/verify',
  'assessments/paging/page-statement',
  'assessments/paging/set-back',
  'assessments/paging/remembered',
  'assessments/paging/one-statement',
]

const QUERY = [
  'assessments/next-link',
  'assessments/resemblance',
  'contract/query-string',
  'contract/query-errors',
  'integrations/refusals',
  ...CONTRACT,
]

const TOKENS = [
  'contract/token-request',
  'contract/token-malformed',
  'contract/token-client',
  'contract/token-response',
  'contract/bearer',
]

const DOCUMENT = ['http/openapi']

const READ_MODEL = [
  'db/constraints',
  'db/functions',
  'db/schema',
  'db/search-names',
  'db/time-zone',
  'db/read-model',
  'db/search-path',
]

const INTEGRATIONS = [
  'integrations/scope',
  'integrations/integrations',
  'integrations/rotation',
  'integrations/refusals',
]

const TESTS: Record<string, string[]> = {
  'src/assessments/access.ts': ['contract/bearer', 'contract/provisioning', ...CONTRACT, ...PAGES],
  'src/assessments/constraints.ts': [
    'assessments/constraints',
    'contract/list-search',
    ...CONTRACT,
    ...PAGES,
  ],
  'src/assessments/search.ts': ['assessments/constraints', 'contract/list-search', ...PAGES],
  'src/assessments/columns.ts': [...CONTRACT, ...PAGES],
  'src/assessments/conditions.ts': ['assessments/ways', 'contract/list-search', ...CONTRACT, ...PAGES],
  'src/assessments/endpoints.ts': ['contract/log', 'integrations/refusals', ...CONTRACT, ...PAGES],
  'src/assessments/page-memory.ts': ['assessments/page-memory', ...PAGES, ...CONTRACT],
  'src/assessments/selection.ts': ['assessments/page-memory', ...PAGES, ...CONTRACT],
  'src/assessments/changes.ts': [...PAGES],
  'src/assessments/count.ts': ['assessments/count', ...CONTRACT, ...PAGES],
  'src/assessments/mark.ts': [...PAGES],
  'src/assessments/page-arithmetic.ts': [
    'assessments/page-arithmetic',
    'assessments/paging/contradicted',
    ...PAGES,
  ],
  'src/assessments/page-plan.ts': ['assessments/page-memory', 'assessments/paging/contradicted', ...PAGES],
  'src/assessments/page-statement.ts': ['assessments/ways', ...PAGES, ...CONTRACT],
  'src/assessments/page.ts': ['assessments/paging/contradicted', ...PAGES, ...CONTRACT],
  'src/assessments/read-run.ts': [...PAGES, ...CONTRACT],
  'src/assessments/records.ts': ['assessments/records', ...PAGES, ...CONTRACT],
  'src/assessments/scope.ts': ['assessments/records', ...PAGES, ...CONTRACT],
  'src/assessments/spread.ts': ['assessments/count', 'assessments/ways', ...PAGES],
  'src/assessments/state.ts': [...PAGES, ...CONTRACT],
  'src/assessments/ways.ts': ['assessments/ways', ...PAGES],
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
  'db/migrations/0001_source_tables.sql': READ_MODEL,
  'db/migrations/0002_read_model.sql': [...READ_MODEL, ...CONTRACT],
  'db/migrations/0003_changes.sql': [...READ_MODEL, ...PAGES, 'refresh/refresh', 'postgres/grant-loader'],
  'db/migrations/0004_writers.sql': [
    ...READ_MODEL,
    'db/writers-queue',
    ...PAGES,
    'refresh/refresh',
    'postgres/grant-loader',
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
}

/** The files of which mutants are made, as paths from the root of the project. */
export const MUTATED = Object.keys(TESTS)

/** The test files that run for the mutants of a file, each once. */
export const testsOf = (path: string) => [
  ...new Set((TESTS[path] ?? []).map(name => `./test/${name}.test.ts`)),
]
