import { FIRST_PAGE, listFilter, SORTS, WARM } from '../paths.ts'
import {
  broadScope,
  type Scope,
  smallScope,
  usualOrganizations,
  usualProduct,
  variantsOf,
} from '../scopes.ts'
import type { Side } from '../side.ts'
import type { Figures, Measure } from '../turns.ts'

/** The records of the small scope, or a tenth of all. */
const SMALL = 10_000

/**
 * The first page with its count, and the next one, in each sort, of lists that are a small part of all records: by a
 * filter, or because the scope is small. Each sort has another scope, so that each first page is counted.
 */
export const narrow: Measure = {
  name: 'narrow',
  async prepare(side) {
    const product = await usualProduct(side.sql)
    const organizations = await usualOrganizations(side.sql)
    const variants = (scope: Scope) => {
      const others = scope.products.filter(id => id !== product)
      return variantsOf({ ...scope, products: [...others, product] }, SORTS.length + 1)
    }
    const broad = variants(await broadScope(side.sql))
    const small = variants(await smallScope(side.sql, Math.min(SMALL, side.options.records / 10)))
    const lists = [
      { name: 'one product', scopes: broad, filter: listFilter('product_ids', [product]) },
      { name: 'three organizations', scopes: broad, filter: listFilter('organization_ids', organizations) },
      { name: `a scope of ${SMALL.toLocaleString('en-US')} records`, scopes: small, filter: '' },
    ]
    return () =>
      side.whileServing(broad[0] as Scope, async ({ url }) => {
        const figures: Figures = {}
        for (const { name, scopes, filter } of lists) {
          const [warm, ...others] = scopes as [Scope, ...Scope[]]
          for (const sort of SORTS) await twoPages(side, url, warm, `&sort=${sort}&${filter}`)
          for (const [at, sort] of SORTS.entries()) {
            const [first, next] = await twoPages(side, url, others[at] as Scope, `&sort=${sort}&${filter}`)
            figures[`${name}, first page by ${sort}, ms`] = first
            figures[`${name}, next page by ${sort}, ms`] = next
          }
        }
        return figures
      })
  },
}

/** Requests before those that are measured, by which token and code are warm. */
const BEFORE = Array.from({ length: 10 }, () => WARM).flat()

/** The milliseconds of the first page and of the next one. */
async function twoPages(side: Side, url: string, scope: Scope, rest: string): Promise<[number, number]> {
  const paths = [...BEFORE, FIRST_PAGE + rest, `${FIRST_PAGE}&offset=100${rest}`]
  const { latencies } = await side.send(url, scope, paths)
  return latencies.slice(-2) as [number, number]
}
