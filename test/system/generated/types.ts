import createClient from 'openapi-fetch'
import type { paths } from './made/openapi-typescript.ts'

/** Compiled and never run: what the generated types accept and refuse. */

const LIST = '/api/v1/ax/assessments'
const api = createClient<paths>({ baseUrl: 'https://x' })
const list = (query: NonNullable<paths[typeof LIST]['get']['parameters']['query']>) =>
  api.GET(LIST, { params: { query } })

const { data } = await list({ page: 5, order: 'DESC', 'filter[user_record_status][]': ['active'] })
export const name: string | undefined = data?.data[0]?.results[0]?.proctor_name
const one = await api.GET('/api/v1/ax/assessments/{id}', { params: { path: { id: 1 } } })
export const seid: string | null | undefined = one.data?.seid

// @ts-expect-error no such parameter
await list({ pages: 5 })
// @ts-expect-error no such sort
await list({ sort: 'name' })
// @ts-expect-error no such status
await list({ 'filter[user_record_status][]': ['gone'] })
// @ts-expect-error the name of a list ends in brackets
await list({ 'filter[seids]': ['x'] })
// @ts-expect-error no such method
await api.POST(LIST, {})
// @ts-expect-error a name is text
export const wrong: number | undefined = data?.data[0]?.name
// @ts-expect-error no such field
export const none = data?.data[0]?.surname
