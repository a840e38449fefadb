import { type PoolBounds, requestMs } from '../database/bounds.ts'
import { exchangeOf } from './exchange.ts'

/** When the database stops to work for a request: its deadline counts from its arrival. */
export function requestBounds(
  request: Request,
  bounds: PoolBounds,
): { signal: AbortSignal; deadline: number } {
  return { signal: request.signal, deadline: exchangeOf(request).started + requestMs(bounds) }
}
