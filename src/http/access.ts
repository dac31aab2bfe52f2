import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { monotonicNow } from '../core/clock.ts'
import { checkKey } from '../core/key.ts'
import { parseOptions } from '../core/options.ts'
import { Problem } from './problem.ts'
import { TokenRate, tokenLimitSchema } from './token-rate.ts'
import { SCOPES, type Scope } from './wire.ts'

const prefixSchema = z
  .string()
  .transform((prefix) => prefix.replace(/\/+$/, ''))
  .refine(
    isPrefix,
    "first segments of keys, such as 'tenant-a', without *; leave the list empty for every key",
  )

/** An access token, known only by its digest. */
export const accessTokenSchema = z.strictObject({
  /**
   * Names the holder: recorded with every change of the rule book, and separates the `Idempotency-Key`s of different
   * holders. Two tokens with one name belong to one holder, so that tokens can be rotated. Letters, digits, `.`, `_`
   * and `-`, 1 to 64 of them.
   */
  name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'letters, digits, ., _ and -, 1 to 64 of them'),
  /** The SHA-256 of the token, 64 hexadecimal digits. */
  sha256: z
    .string()
    .regex(/^[0-9A-Fa-f]{64}$/, '64 hexadecimal digits')
    .transform((digest) => digest.toLowerCase()),
  /** What it allows: `enqueue` (also cancel, and fill meters), `read`, or `admin`, which allows everything. */
  scopes: z.array(z.enum(SCOPES)).min(1),
  /** The keys that it gives access to, by whole first segments: `tenant-a` is that key and all below it. Default: every key. */
  prefixes: z.array(prefixSchema).default([]),
  /**
   * The rate of its requests, of any kind: `600, 100/s` is 600 requests at once, then 100 a second. A batch counts as many
   * requests as it has jobs, and each 4 KiB of a body count as one. Each process counts separately. Default: unlimited.
   */
  limit: tokenLimitSchema.optional(),
})

export interface AccessToken {
  readonly name: string
  /** Hexadecimal. */
  readonly sha256: string
  readonly scopes: readonly Scope[]
  /** Empty: every key. */
  readonly prefixes: readonly string[]
  /** Requests at once and per time: `600, 100/s`. Absent: unlimited. */
  readonly limit?: string | undefined
}

/** The holder of a token, and what the token allows. */
export type Principal = Omit<AccessToken, 'sha256' | 'limit'>

/** The principal on routes that need no token; it has no rights. No token has this name. */
export const OPEN: Principal = Object.freeze({ name: '', scopes: [], prefixes: [] })

/** Used where no tokens are configured: every request may do everything. Such a server listens on loopback only. */
export const ANONYMOUS: Principal = Object.freeze({
  name: 'anonymous',
  scopes: ['admin'] as const,
  prefixes: [],
})

/** With two entries for one digest it would be undefined whose rights and rate apply. */
const tokenListSchema = z.strictObject({
  tokens: z
    .array(accessTokenSchema)
    .refine(
      (tokens) => new Set(tokens.map(({ sha256 }) => sha256)).size === tokens.length,
      'tokens with a sha256 of their own each',
    ),
})

const UNREAD = Symbol('unread')

interface Holder {
  readonly digest: Buffer
  readonly principal: Principal
  readonly rate: TokenRate | undefined
}

/**
 * Finds the principal of a request, and enforces the rate of its token. Digests are compared in constant time.
 *
 * The tokens may be replaced at any time. An unchanged token keeps its principal. Once there have been tokens, an empty
 * list refuses every request: a list that was emptied by mistake grants nothing.
 */
export class Authenticator {
  readonly #tokens: () => readonly AccessToken[]
  readonly #now: () => number
  #list: unknown = UNREAD
  /** By digest, name, scopes and prefixes. */
  #holders: ReadonlyMap<string, Holder> = new Map()
  /** By hexadecimal digest. */
  #rates: ReadonlyMap<string, TokenRate> = new Map()
  #rateOf: ReadonlyMap<Principal, TokenRate | undefined> = new Map()
  #isOpen = true

  /** @throws InvalidOptionsError */
  constructor(
    tokens: readonly AccessToken[] | (() => readonly AccessToken[]),
    now: () => number = monotonicNow,
  ) {
    this.#now = now
    this.#tokens = typeof tokens === 'function' ? tokens : () => tokens
    this.#read()
  }

  /**
   * Counts the request as so many.
   *
   * @throws Problem 401, or 429 when the token exceeds its rate
   */
  authenticate(authorization: string | undefined, needsToken = false, units = 1): Principal {
    this.#reread()
    if (this.#isOpen && !needsToken) return ANONYMOUS
    if (authorization === undefined) throw unauthorized('expected an Authorization header', '')
    const token = tokenIn(authorization)
    if (token === undefined) {
      throw unauthorized(
        'expected Authorization to be Bearer followed by a token',
        ', error="invalid_request"',
      )
    }
    const found = this.#holderOf(token)
    if (found === undefined) throw unauthorized('unknown access token', ', error="invalid_token"')
    found.rate?.count(units, this.#now())
    return found.principal
  }

  /** The name of the token in the header; undefined if there is none or it is unknown. Counts nothing. */
  nameOf(authorization: string | undefined): string | undefined {
    const token = tokenIn(authorization ?? '')
    return token === undefined ? undefined : this.#holderOf(token)?.principal.name
  }

  /** Compares with every token, so that the time does not depend on which one it is. */
  #holderOf(token: string): Holder | undefined {
    const given = createHash('sha256').update(token).digest()
    let found: Holder | undefined
    for (const holder of this.#holders.values()) {
      const isSame = timingSafeEqual(holder.digest, given)
      if (isSame) found ??= holder
    }
    return found
  }

  /**
   * Returns a function that counts a request, which was counted as `counted`, as more, up to what it is called with.
   *
   * @throws Problem 429 from that function
   */
  counter(principal: Principal, counted: number): (units: number) => void {
    let before = counted
    return (units) => {
      if (units <= before) return
      this.#rateOf.get(principal)?.countMore(units - before, before, this.#now())
      before = units
    }
  }

  /** Whether the token of this principal is still accepted, with the same rights. */
  isStillValid(principal: Principal): boolean {
    try {
      this.#reread()
    } catch {
      return false
    }
    return principal === ANONYMOUS ? this.#isOpen : this.#rateOf.has(principal)
  }

  /** Not a fault of the client, so the error is no problem. */
  #reread(): void {
    try {
      this.#read()
    } catch (error) {
      throw new Error('the access tokens cannot be read', { cause: error })
    }
  }

  #read(): void {
    const list = this.#tokens()
    if (list === this.#list) return
    const { tokens } = parseOptions(tokenListSchema, { tokens: list }, 'createHttpApp')
    const holders = new Map<string, Holder>()
    const rates = new Map<string, TokenRate>()
    for (const { sha256, limit, ...rest } of tokens) {
      const id = JSON.stringify([sha256, rest])
      const principal = this.#holders.get(id)?.principal ?? Object.freeze(rest)
      // A token whose rights or rate change keeps its count.
      if (limit !== undefined) rates.set(sha256, new TokenRate(rest.name, limit, this.#rates.get(sha256)))
      holders.set(id, { digest: Buffer.from(sha256, 'hex'), principal, rate: rates.get(sha256) })
    }
    this.#list = list
    this.#holders = holders
    this.#rates = rates
    this.#rateOf = new Map([...holders.values()].map(({ principal, rate }) => [principal, rate]))
    if (holders.size > 0) this.#isOpen = false
  }
}

function tokenIn(authorization: string): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1]
}

function unauthorized(detail: string, error: string): Problem {
  return new Problem('unauthorized', { detail }, { 'WWW-Authenticate': `Bearer realm="velvet-rope"${error}` })
}

function isPrefix(prefix: string): boolean {
  try {
    checkKey(prefix, 'prefix')
    return !prefix.split('/').includes('*')
  } catch {
    return false
  }
}
