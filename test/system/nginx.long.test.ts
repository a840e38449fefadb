import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { assessment, range, world } from '../support/fixtures.ts'
import { get, LIST, type ListBody, successful, tokenRequest } from '../support/http.ts'
import { documents, linesOf, outputIn, pullFrom } from '../support/pull.ts'
import { requires } from '../support/requires.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'
import { describedPlaces, NGINX, startNginx } from './support/nginx.ts'

setDefaultTimeout(120_000)

requires(NGINX).describe('behind nginx, under a path prefix,', () => {
  let service: TestService
  let client: Awaited<ReturnType<typeof authorize>>
  let nginx: Awaited<ReturnType<typeof startNginx>>

  beforeAll(async () => {
    service = await startService('postgres')
    await load(service.sql, [...world(), ...range(250, index => assessment(index + 1))])
    client = await authorize(service, [10], [1])
    nginx = await startNginx(service.baseUrl)
  })
  afterAll(async () => {
    await nginx?.stop()
    await service?.close()
    await cleanUp()
  })

  test('the description of the API says where the service and its tokens are', async () => {
    const { baseUrl, tokenUrl } = await describedPlaces(`${nginx.url}/openapi.json`)
    expect(baseUrl).toBe(nginx.url)
    const issued = await fetch(tokenUrl, { method: 'POST', body: new URLSearchParams(tokenRequest(client)) })
    expect(await issued.json()).toMatchObject({ token_type: 'Bearer' })
    expect(nginx.missed()).toEqual([])
  })

  test('each page links to the next one', async () => {
    const ids: number[] = []
    let next: string | undefined = `${nginx.url}${LIST}?page=100`
    while (next) {
      const answer = await get(next, client.token, '')
      const { data } = successful(answer) as ListBody
      ids.push(...data.map(({ id }) => id))
      const [, link] = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '') ?? []
      next = link && new URL(link, next).href
    }
    expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => index + 1))
    expect(nginx.missed()).toEqual([])
  })

  test('everything that the reference page loads is there', async () => {
    const page = await (await fetch(`${nginx.url}/docs`)).text()
    const addresses = [...page.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, address = '']) => address)
    expect(addresses).not.toBeEmpty()
    for (const address of addresses)
      expect([address, (await fetch(new URL(address, `${nginx.url}/docs`))).status]).toEqual([address, 200])
    expect(nginx.missed()).toEqual([])
  })

  test('a pull reads everything', async () => {
    const out = outputIn()
    await pullFrom(nginx.url, client, out)
    expect(linesOf(out)).toEqual(await documents(service))
    expect(nginx.missed()).toEqual([])
  })
})
