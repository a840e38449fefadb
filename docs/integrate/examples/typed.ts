import { treaty } from '@elysiajs/eden'
import type { App } from './axport'

const api = treaty<App>('https://export.example.org', { parseDate: false })
const credentials = { client_id: '…', client_secret: '…' }
const token = await api.oauth.token.post({ grant_type: 'client_credentials', ...credentials })
const headers = { authorization: `Bearer ${token.data?.access_token}` }
const query = { page: 100, offset: 0, 'filter[start_date]': '2026-01-01' }
const { data, error } = await api.api.v1.ax.assessments.get({ query, headers })
if (error) throw error
for (const assessment of data.data) console.log(assessment.id, assessment.certified_on)
