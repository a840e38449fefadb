import { refusal, succeed, useTwoServices } from '../support/operator.ts'

/** Two services, and `axport integration` on their database. */
export function useIntegrations() {
  const services = useTwoServices()
  const integration = (...args: string[]) => succeed(services.url, 'integration', ...args)
  const refused = (...args: string[]) => refusal(services.url, 'integration', ...args)
  const show = async (id: string) => JSON.parse(await integration('show', id, '--json'))
  return { services, integration, refused, show }
}
