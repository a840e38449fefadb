import { Elysia } from 'elysia'
import { jsonResponse } from '../../answers.ts'
import type { BodyLimits } from '../../oauth/endpoint.ts'
import { compressed } from '../compress.ts'
import { refuseOthers, useGet } from '../methods.ts'
import { openApiDocument } from './document.ts'

const PATH = '/openapi.json'

/** GET /openapi.json: the document, for whoever asks. It is made for the first one that does. */
export function openApiRoutes(limits: BodyLimits) {
  let json: string | undefined
  const send = ({ request }: { request: Request }) => {
    json ??= JSON.stringify(openApiDocument(limits))
    return compressed(request, jsonResponse(200, json, { 'cache-control': 'no-cache' }))
  }
  return new Elysia({ name: 'openapi' }).get(PATH, send).head(PATH, send).use(refuseOthers(PATH, useGet))
}
