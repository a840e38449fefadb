import { Elysia } from 'elysia'
import { COMPRESSIBLE } from '../../answers.ts'
import type { BodyLimits } from '../../oauth/body.ts'
import { refuseOthers, useGet } from '../methods.ts'
import { respond } from '../respond.ts'
import { openApiDocument } from './document.ts'

const PATH = '/openapi.json'

/** GET /openapi.json: the document, for whoever asks. It is made for the first one that does. */
export function openApiRoutes(limits: BodyLimits) {
  let json: string | undefined
  const send = ({ request }: { request: Request }) => {
    json ??= JSON.stringify(openApiDocument(limits))
    return respond(request, {
      status: 200,
      headers: { ...COMPRESSIBLE, 'cache-control': 'no-cache' },
      body: json,
    })
  }
  const routes = new Elysia({ name: 'openapi' }).get(PATH, send).head(PATH, send)
  refuseOthers(routes, PATH, useGet)
  return routes
}
