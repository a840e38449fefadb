/**
 * Values that the API refuses or does not find, for the tests that say how and for the hostile requests of system/fuzz.
 * A value that is bad for one parameter only stands in the test of that parameter.
 */

import { LIST, TOKEN } from './http.ts'

/** Splits a text into words. */
export const words = (text: string) => text.trim().split(/\s+/)

/** Text that is no whole number. */
export const NO_NUMBERS = [
  ...words("abc 1.0 1.5 50.0 1e1 0x10 5x 1,2 1;2 1_000 1' --1 １２ ٥ ¹ NaN Infinity null"),
  '1 2',
  `${'9'.repeat(30)}x`,
]

/** Whole numbers that are the id of no row, whatever the data. */
export const NO_IDS = [
  ...words('0 -1 9007199254740993 9223372036854775807 9223372036854775808'),
  '9'.repeat(100),
  `-${'9'.repeat(100)}`,
]

/** Text that is no day of the calendar in the form YYYY-MM-DD. */
export const NO_DAYS = [
  ...words('yesterday today now infinity 2026-02-30 2025-02-29 1900-02-29 2026-13-01 2026-00-10 2026-01-00'),
  ...words('2026-1-1 26-01-01 20260101 2026/01/01 01-01-2026 2026-01 2026-01-01T00:00:00Z 1767225600'),
  ...words('-2026-01-01 12026-01-01 0000-01-01 ２０２６-01-01'),
  '2026-01-01 00:00',
]

/** Names that objects of JavaScript inherit. */
export const INHERITED = words('__proto__ constructor hasOwnProperty toString valueOf')

/** Escapes that are incomplete, or whose bytes are not UTF-8. */
export const NO_UTF8 = words('%FF %C3%28 %C3 %E2%82 %ED%A0%80 %C0%80 %F5%80%80%80 a%80b %zz %')

/** Escapes of control characters. */
export const CONTROLS = words('%00 %01 %08 %0A %0D %1B %1F %7F')

/** Bodies that are no JSON object. */
export const NO_JSON_OBJECTS = [
  ...['{', 'grant_type=client_credentials', '{"grant_type":"client_credentials",}', 'undefined', ''],
  ...['null', '[]', '"client_credentials"', '5', 'true', '[{"grant_type":"client_credentials"}]'],
]

/** Values of Authorization that have a live token, but not as a bearer token. */
export const malformedBearers = (token: string): string[] => [
  ...['Bearer', 'Bearer ', `Bearer${token}`, `Bearer:${token}`, `Bearer, ${token}`, `Bearer ${token} x`],
  ...[`Bearer ${token},`, `Bearer "${token}"`, `XBearer ${token}`, `Token ${token}`, `Basic ${token}`],
  ...[token, `access_token=${token}`],
]

/** Values of Authorization that have no credentials in the form of HTTP Basic. */
export const MALFORMED_BASICS = [
  'Basic',
  'Basic ',
  ...['!!!!', 'bm9jb2xvbg==', '=', 'w6k6/w=='].map(text => `Basic ${text}`),
]

/** The methods that the export does not have. */
export const OTHER_METHODS = words('POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY')

/** Paths that resemble those of the endpoints. */
export const OTHER_PATHS = [
  ...words(`/ /api/v1/ax /api/v2/ax/assessments /api/ax/assessments /ax/assessments ${LIST}/ ${LIST}.json`),
  ...words('/API/v1/ax/assessments //api/v1/ax/assessments /api/v1//ax/assessments'),
  ...words(`/oauth /api/v1/oauth/token ${TOKEN}/ /OAUTH/TOKEN`),
]
