import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NO_IDS } from '../support/bad-values.ts'
import { use } from '../support/hooks.ts'
import { get, LIST } from '../support/http.ts'
import { Oracle } from '../support/oracle.ts'
import { platform } from '../support/platform.ts'
import { holds } from '../support/property.ts'
import { startExecutable } from '../support/served.ts'
import { provisionScopes } from '../support/stored-platform.ts'

/** Less than the share of MAX_REQUESTS that one integration has: a platform may have more ids than that. */
const AT_ONCE = 100

const NOT_FOUND = '404 {"errors":[{"message":"Assessment not found"}]}'

describe('any retrieve request', () => {
  const service = use(startExecutable)

  test('gets the record for the id of an overall assessment in the scope, and 404 for any other id', async () => {
    const property = fc.asyncProperty(platform, async data => {
      const oracle = new Oracle(data)
      const ids = new Set(data.assessments.flatMap(({ id, parts }) => [id, ...parts.map(part => part.id)]))
      const others = [data.organizations, data.products, data.users].flatMap(rows => rows.map(({ id }) => id))
      const requested = [...new Set([...ids, ...others].map(String)), ...NO_IDS]
      for (const { scope, token } of await provisionScopes(service, data)) {
        const answers: string[][] = []
        for (let at = 0; at < requested.length; at += AT_ONCE) {
          const some = requested.slice(at, at + AT_ONCE).map(async id => {
            const { status, text } = await get(service.baseUrl, token, `${LIST}/${id}`)
            return [id, `${status} ${text}`]
          })
          answers.push(...(await Promise.all(some)))
        }
        const expected = requested.map(id => {
          const document = oracle.document(scope, Number(id))
          return [id, document === undefined ? NOT_FOUND : `200 ${document}`]
        })
        expect(answers).toEqual(expected)
      }
    })
    await holds(property, { runs: 5, thorough: 12 })
  })
})
