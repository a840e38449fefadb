import { version } from '../../package.json'

/** Set at build; absent when run from source. */
declare const AXPORT_COMMIT: string | undefined

const commit = typeof AXPORT_COMMIT === 'string' ? AXPORT_COMMIT : ''

/** "0.1.0 (abc1234)". */
export const VERSION = commit ? `${version} (${commit})` : version
