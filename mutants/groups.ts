/** Groups of test files for mutants, the quickest first. Each takes a second or two. */

export const CONTRACT = [
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

export const PAGES = [
  'assessments/paging/corrected',
  'assessments/paging/live-tokens',
  'assessments/paging/verify',
  'assessments/paging/page-statement',
  'assessments/paging/set-back',
  'assessments/paging/remembered',
  'assessments/paging/one-statement',
]

export const QUERY = [
  'assessments/next-link',
  'assessments/resemblance',
  'contract/query-string',
  'contract/query-errors',
  'integrations/refusals',
  ...CONTRACT,
]

/** The plans of statements at a size where they matter: the tests that judge a change of the speed alone. */
export const PLANS = ['assessments/record-plans.long', 'assessments/paging/page-plans.long']

export const TOKENS = [
  'contract/token-request',
  'contract/token-malformed',
  'contract/token-client',
  'contract/token-response',
  'contract/bearer',
]

export const DOCUMENT = ['http/openapi']

export const READ_MODEL = [
  'db/constraints',
  'db/functions',
  'db/schema',
  'db/search-names',
  'db/time-zone',
  'db/read-model',
  'db/search-path',
]

export const INTEGRATIONS = [
  'integrations/scope',
  'integrations/integrations',
  'integrations/rotation',
  'integrations/refusals',
]

export const PULL = [
  'pull/page',
  'pull/pull',
  'pull/comparison',
  'pull/hosts',
  'pull/proxy',
  'pull/records',
  'pull/changes',
]

export const IMPORT = [
  'import/rows',
  'import/any-line',
  'import/import',
  'import/sync',
  'import/rejects',
  'import/unsaid',
  'import/repeats',
  'import/summary',
  'import/refusals',
  'import/whole',
  'import/at-once',
  'import/large',
]

export const FEED = [
  'import/platform-failure',
  'import/platform',
  'import/platform-since',
  'import/platform-rejects',
  'import/platform-removals',
  'import/platform-ids',
  'import/silence-check',
]

export const HTTP = [
  'contract/methods-and-headers',
  'contract/bearer',
  'contract/token-request',
  'contract/list-record',
  'contract/query-errors',
  'contract/log',
  'contract/pipelined',
  'http/request-log',
  'http/compression',
  'http/without-host',
  'http/slow-clients',
  'http/client-address',
  'http/read-only',
  'http/shortage',
  'http/disclosures',
  'http/recorder',
  'http/tls',
  'integrations/refusals',
  'cli/shutdown',
]

export const ADMIN = ['http/status-page', 'http/servers', 'http/admin', 'cli/health', 'cli/workers']

export const POOL = [
  'postgres/fair-queue',
  'postgres/lanes',
  'postgres/attempts',
  'postgres/statement-monitor.alone',
  'postgres/statement',
  'postgres/lease',
  'postgres/lease-postgres',
  'postgres/repetition',
  'postgres/half-answers',
  'postgres/writes',
  'postgres/changed-plans',
  'postgres/connection',
  'postgres/standbys',
  'http/shortage',
  'postgres/simulated/pool',
]
