/** Lines of the import format for tests that care about little in them. */

export const organization = (id: number, name = 'o') => ({ type: 'organization', id, name })
export const product = (id: number, name = 'p') => ({ type: 'product', id, name })
export const user = (id: number, name = 'u') => ({ type: 'user', id, name })

/** All that `single` and `parted` refer to. */
export const people = [organization(1), product(1), user(1), user(2)]

/** What every assessment of `people` has besides its id, and its proctor or parts. */
export const common = {
  type: 'assessment',
  user_id: 1,
  organization_id: 1,
  product_id: 1,
  certified_at: '2026-03-01',
}
export const single = (id: number, changes: object = {}) => ({ ...common, id, proctor_id: 2, ...changes })
export const part = (id: number, proctor_id = 2) => ({
  id,
  name: `n${id}`,
  certified_at: '2026-02-01',
  proctor_id,
})
export const parted = (id: number, ...parts: number[]) => ({
  ...common,
  id,
  parts: parts.map(id => part(id)),
})
export const removal = (type: string, id: number) => ({ type, id, deleted: true })
