import { type PoolBounds, requestMs } from '../database/bounds.ts'
import { originOf } from './request-log.ts'

/** A request as the database sees it: its deadline counts from its arrival. */
export function requesterOf(request: Request, bounds: PoolBounds): { signal: AbortSignal; deadline: number } {
  return { signal: request.signal, deadline: originOf(request).started + requestMs(bounds) }
}
