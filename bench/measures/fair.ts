import { type Measure, withService } from '../measured-service.ts'
import { median } from '../results.ts'
import { compare } from '../rounds.ts'
import { broadScope } from '../scopes.ts'
import { authorize, FIRST_PAGE } from '../service.ts'

/** The number of requests that the other integration has open all the time. */
const OPEN = 200

/**
 * The median page of one client while another integration has 200 open requests, compared with a page while the
 * client's own integration has them: requests of one integration are served in their order.
 */
export const fair: Measure = {
  name: 'fair',
  async run(world) {
    const scope = await broadScope(world.sql)
    const other = await world.provision(world, { ...scope, products: scope.products.slice(1) })
    const { seconds, rounds } = world.options
    const figures = await withService(world, scope, async ({ service, headers, load }) => {
      const otherHeaders = await authorize(service.url, other)
      const job = { paths: [FIRST_PAGE], seconds }
      for (const known of [headers, otherHeaders]) await load({ ...job, headers: known, connections: 1 })
      const pageBeside = (crowd: typeof headers) => async () => {
        const others = load({ ...job, headers: crowd, connections: OPEN })
        const { latencies } = await load({ ...job, connections: 1 })
        await others
        return median(latencies)
      }
      return await compare(rounds, pageBeside(otherHeaders), pageBeside(headers))
    })
    const measure = `a page during ${OPEN} open requests of another integration ÷ of the same integration`
    return [{ measure, ...figures, unit: 'ms', beside: 'same integration' }]
  },
}
