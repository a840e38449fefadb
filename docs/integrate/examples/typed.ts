import createClient from 'openapi-fetch'
import type { paths } from './axport'

// A redirect would take the secret or the token to another host.
const api = createClient<paths>({ baseUrl: 'https://export.example.org', redirect: 'error' })
const credentials = { client_id: '…', client_secret: '…' }
const token = await api.POST('/oauth/token', { body: { grant_type: 'client_credentials', ...credentials } })
const headers = { authorization: `Bearer ${token.data?.access_token}` }
const query = { page: 100, offset: 0, 'filter[start_date]': '2026-01-01' }
const { data, error } = await api.GET('/api/v1/ax/assessments', { params: { query }, headers })
if (!data) throw new Error(JSON.stringify(error))
for (const assessment of data.data) console.log(assessment.id, assessment.certified_on)
