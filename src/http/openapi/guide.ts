import { MAX_LINK, MAX_QUERY_BYTES } from '../../assessments/query-string.ts'
import { DEFAULT_PAGE, MAX_FILTER_VALUES, MAX_PAGE } from '../../contract.ts'
import { TOKEN_LIFETIME } from '../../oauth/tokens.ts'

/** What an integration has to know beside the operations; backticks mark code. */
interface Chapter {
  title: string
  paragraphs: string[]
}

const number = (value: number) => value.toLocaleString('en-US')

export const SUMMARY =
  'Read-only access to the completed assessments of educators, for programs: a token, then page after page. What an integration may read, a set of organizations and a set of assessments, was fixed when it was provisioned; requests narrow it and never widen it.'

export const GUIDE: Chapter[] = [
  {
    title: 'Tokens',
    paragraphs: [
      `\`POST /oauth/token\` gives an access token for the client ID and the secret (OAuth 2.0, client credentials). It is good for ${number(TOKEN_LIFETIME)} seconds: keep it that long, and do not ask for one with every request.`,
      'Every other request has the header `Authorization: Bearer TOKEN`. When it is answered with 401, get a new token and repeat it, once.',
    ],
  },
  {
    title: 'Paging',
    paragraphs: [
      `\`page\` is the size of a page, not its number: ${DEFAULT_PAGE} by default, at most ${MAX_PAGE}; larger values are reduced to ${MAX_PAGE}. \`offset\` is the number of records to skip. Start with \`offset=0\` and increase it by the page size until it reaches \`meta.count\`.`,
      `Or follow the header \`Link: <…>; rel="next"\` until an answer has none. It is left out where it would be longer than ${number(MAX_LINK)} bytes, which takes some hundred ids in filters: there, count.`,
      'Keep `sort` and `order` fixed for a full export. Every order ends in the id, so that no record is met twice or missed while the data stays the same. When `meta.count` changes on the way, the data did: start over.',
    ],
  },
  {
    title: 'Filters',
    paragraphs: [
      `All filters combine with AND. An array is a repeated key with brackets, \`filter[seids][]=A1&filter[seids][]=B2\`, of at most ${number(MAX_FILTER_VALUES)} values; brackets may be percent-encoded. A blank value is as good as none. The query string takes ${number(MAX_QUERY_BYTES)} bytes: send several requests where that is not enough.`,
      'A value that cannot be read is answered with 400 and never ignored. Unknown parameters are ignored. An organization outside the scope matches nothing, and is no error.',
    ],
  },
  {
    title: 'Days',
    paragraphs: [
      'Days are days in the time zone of the platform, as `YYYY-MM-DD`: in `certified_on`, and in `filter[start_date]` and `filter[end_date]`, which both include the whole of their day.',
    ],
  },
  {
    title: 'Errors',
    paragraphs: [
      '400: mend the request, or have the operator provision the integration; repeating it does not help. 401: get a new token; at the token endpoint, check ID and secret. 404: there is no such assessment in the scope. 500: tell the operator, with the `X-Request-Id` of the answer.',
      '408, 503 and 504: repeat the request, after `Retry-After` seconds where it says so, and with growing pauses after that. The same goes for a connection that breaks.',
    ],
  },
]
