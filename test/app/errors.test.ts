import { expect, test } from 'bun:test'
import { Elysia, t } from 'elysia'
import { apiError } from '../../src/answers.ts'
import { failureAnswer } from '../../src/app/errors.ts'
import { requestLog } from '../../src/app/request-log.ts'
import { respond } from '../../src/app/respond.ts'
import { serviceContext } from '../support/service-context.ts'

test('a value that a validator refuses reaches neither answer nor log, if a route does not foresee it', async () => {
  const errors: unknown[] = []
  const app = new Elysia()
    .use(requestLog(serviceContext({ error: (line: unknown) => errors.push(line) })))
    .mapResponse(respond)
    .onError(({ error, request }) => failureAnswer(request, error, apiError))
    .post('/', () => '', { body: t.Object({ client_secret: t.String() }) })
  const body = JSON.stringify({ client_secret: ['very secret'] })
  const headers = { 'content-type': 'application/json' }
  const answer = await app.handle(new Request('http://localhost/', { method: 'POST', headers, body }))
  expect(answer.status).toBe(500)
  expect(await answer.json()).toEqual({ errors: [{ message: 'Internal server error' }] })
  expect(errors).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'VALIDATION' }) }),
  ])
  expect(JSON.stringify(errors)).not.toContain('secret')
})
