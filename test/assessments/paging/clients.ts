import fc from 'fast-check'
import type { Sql, TransactionSql } from 'postgres'
import { rotateSecret } from '../../../src/integrations/credentials.ts'
import { setDisabled } from '../../../src/integrations/lifecycle.ts'
import { changeScope } from '../../../src/integrations/scope.ts'
import { sha256 } from '../../../src/random.ts'
import { newToken } from '../../support/http.ts'
import type { Scope } from '../../support/oracle.ts'
import { type Answer, provision } from './servers.ts'
import { EMPTY } from './world.ts'

/** The scope of a token, and whether the token is valid, by the rules. */
export interface Access extends Scope {
  isLive: boolean
}

interface Token {
  text: string
  isRevoked: boolean
  /** The number of the secret that issued the token; the first secret is 1. */
  secret: number
}

/** A change of an integration's access. */
export interface AccessChange {
  kind: 'scope' | 'rotate' | 'grace' | 'endGrace' | 'disable' | 'enable' | 'revoke' | 'expire' | 'renew'
  a: number
  b: number
}

export const anyAccessChange: fc.Arbitrary<AccessChange> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('scope' as const) },
    { weight: 3, arbitrary: fc.constantFrom('rotate' as const, 'grace' as const, 'endGrace' as const) },
    { weight: 3, arbitrary: fc.constantFrom('disable' as const, 'enable' as const, 'enable' as const) },
    { weight: 2, arbitrary: fc.constantFrom('revoke' as const, 'expire' as const) },
    { weight: 4, arbitrary: fc.constant('renew' as const) },
  ),
  a: fc.nat(999),
  b: fc.nat(999),
})

/** Ids for either set of a scope, from all to none. */
const SCOPES = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5], [1, 2, 3, 4], [2, 3, 4], [3], [6], [2, 3, ...EMPTY], []]

const scopeAt = (a: number, b: number): Scope => ({
  organizations: SCOPES[a % SCOPES.length] ?? [],
  products: (SCOPES[b % SCOPES.length] ?? []).filter(id => id <= 4),
})

/** An integration with a model of its secrets and tokens, kept in memory beside the database. */
export class Client {
  private readonly tokens: Token[] = []
  private secrets = 1
  /** Whether the previous secret is within its grace. */
  private isInGrace = false
  private isDisabled = false

  private constructor(
    private readonly db: Sql,
    private readonly urls: string[],
    private scope: Scope,
    private readonly clientId: string,
    private clientSecret: string,
  ) {}

  static async create(db: Sql, urls: string[], scope: Scope): Promise<Client> {
    const { clientId, clientSecret } = await provision(db, scope)
    const client = new Client(db, urls, scope, clientId, clientSecret)
    await client.renew()
    return client
  }

  /** The newest token, or an older one (`age` counts back from the newest). */
  token(age: number): { text: string; access: Access } {
    const token = this.tokens.at(-1 - Math.min(age, this.tokens.length - 1)) as Token
    return { text: token.text, access: this.accessOf(token.text) }
  }

  /** The current access of one of the integration's tokens. */
  accessOf(text: string): Access {
    const token = this.tokens.find(token => token.text === text)
    return { ...this.scope, isLive: token !== undefined && this.isLive(token) }
  }

  async change({ kind, a, b }: AccessChange): Promise<void> {
    switch (kind) {
      case 'scope':
        return await this.changeScope(a, b)
      case 'rotate':
        return await this.rotate(undefined)
      case 'grace':
        return await this.rotate(3600)
      case 'endGrace':
        return await this.endGrace()
      case 'disable':
      case 'enable':
        this.isDisabled = kind === 'disable'
        await setDisabled(this.db, this.clientId, this.isDisabled)
        return
      case 'revoke':
      case 'expire':
        return await this.revoke(kind, a)
      case 'renew':
        return await this.renew()
    }
  }

  private async changeScope(a: number, b: number): Promise<void> {
    this.scope = scopeAt(a, b)
    const [some, others] = [this.scope.organizations.map(String), this.scope.products.map(String)]
    await changeScope(this.db, this.clientId, { replace: some }, { replace: others })
  }

  /** Changes the scope within a transaction. */
  async changeScopeWithin(sql: TransactionSql, a: number, b: number): Promise<void> {
    this.scope = scopeAt(a, b)
    const { organizations, products } = this.scope
    await sql`
      update integrations set organization_ids = ${organizations}::bigint[], product_ids = ${products}::bigint[]
      where client_id = ${this.clientId}`
  }

  private async rotate(graceSeconds: number | undefined): Promise<void> {
    const { db, clientId } = this
    const options = graceSeconds === undefined ? { force: true } : { graceSeconds, force: true }
    this.clientSecret = (await rotateSecret(db, clientId, options)).clientSecret
    this.isInGrace = graceSeconds !== undefined
    this.secrets += 1
  }

  /** Ends the grace by setting its deadline to now. */
  private async endGrace(): Promise<void> {
    await this.db`
      update integration_secrets set expires_at = now()
      where expires_at is not null
        and integration_id = (select id from integrations where client_id = ${this.clientId})`
    this.isInGrace = false
  }

  private async revoke(kind: 'revoke' | 'expire', a: number): Promise<void> {
    const token = this.tokens[a % this.tokens.length] as Token
    const digest = sha256(token.text)
    if (kind === 'revoke') await this.db`delete from access_tokens where digest = ${digest}::text::bytea`
    else await this.db`update access_tokens set expires_at = now() where digest = ${digest}::text::bytea`
    token.isRevoked = true
  }

  private async renew(): Promise<void> {
    if (this.isDisabled) await this.change({ kind: 'enable', a: 0, b: 0 })
    const url = this.urls[this.tokens.length % this.urls.length] ?? ''
    const text = await newToken(url, { clientId: this.clientId, clientSecret: this.clientSecret })
    this.tokens.push({ text, isRevoked: false, secret: this.secrets })
  }

  private isLive({ isRevoked, secret }: Token): boolean {
    const isOfLiveSecret = secret === this.secrets || (this.isInGrace && secret === this.secrets - 1)
    return !isRevoked && !this.isDisabled && isOfLiveSecret
  }
}

const INVALID_TOKEN = '{"error":"invalid_token","error_description":"The access token is invalid"}'

/** The refusal for a token with this access, for any request; undefined if the request is allowed. */
export function refusal({ isLive, organizations, products }: Access): Answer | undefined {
  if (!isLive) return { status: 401, body: INVALID_TOKEN }
  const missing = organizations.length === 0 ? 'tenant' : products.length === 0 ? 'product' : undefined
  if (missing === undefined) return undefined
  return { status: 400, body: `{"errors":[{"message":"Invalid or missing ${missing} ids"}]}` }
}
