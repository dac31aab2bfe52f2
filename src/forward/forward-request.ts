import { z } from 'zod'
import { quote } from '../core/describe.ts'
import { FinalError } from '../core/handler-errors.ts'
import { recordOf } from '../core/options.ts'
import { parseUrl } from '../core/url.ts'
import { faultOfAddress } from './guarded-connect.ts'
import { faultOfJobHeader, readHeaders } from './headers.ts'
import { findOrigin } from './origins.ts'
import type { ForwardReach } from './plan.ts'
import { LONGEST_TIMEOUT_MS } from './settings.ts'

const LONGEST_URL = 8_192
/** The URL parser drops some of these characters and reinterprets others. */
const UNCLEAN = /[\p{Control}\p{Format}\s\\]/u
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const TIMEOUT = `a whole number of milliseconds from 1 to ${LONGEST_TIMEOUT_MS}`
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

/** The data of a job to forward; the texts say what is expected. */
const forwardRequestSchema = z.strictObject(
  {
    method: z.enum(METHODS, `one of ${METHODS.join(', ')}`),
    /** An absolute `http` or `https` URL of an allowed origin. */
    url: z.string('an absolute http or https URL'),
    /** Headers of the request. Default: none. */
    headers: recordOf(z.string(), z.string('a text'), 'an object of names and texts').default({}),
    /**
     * A string is sent as it is; any other value as JSON, with its content type unless the job sets one. Default: no
     * body.
     */
    body: z.unknown().optional(),
    /** Time limit in milliseconds, up to `maxTimeoutMs` of the settings. Default: `timeoutMs` of the settings. */
    timeoutMs: z.int(TIMEOUT).min(1, TIMEOUT).max(LONGEST_TIMEOUT_MS, TIMEOUT).optional(),
  },
  'an object such as { method, url, headers?, body?, timeoutMs? }',
)

export type ForwardRequest = z.input<typeof forwardRequestSchema>

/** A valid request. */
export interface CheckedRequest {
  readonly method: (typeof METHODS)[number]
  readonly url: URL
  /** The entry of `allow` that permits it. */
  readonly origin: string
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string | undefined
  readonly timeoutMs: number | undefined
}

/**
 * What is wrong with the data of a job, and the path to it. It contains only names of fields and headers, and an
 * origin, no values.
 */
export interface RequestFault {
  readonly detail: string
  readonly path: readonly string[]
}

/**
 * Parses the data of a job that was accepted. Its time limit is cut to the longest: the settings may have changed since, and a
 * job that could be sent within the limit is not failed for it.
 *
 * @throws FinalError, because invalid data stay invalid
 */
export function readForwardRequest(data: unknown, reach: ForwardReach): CheckedRequest {
  const request = attempt(() => read(data, reach))
  if ('detail' in request) throw new FinalError(`forward: ${request.detail}`)
  const { timeoutMs } = request
  return timeoutMs === undefined
    ? request
    : { ...request, timeoutMs: Math.min(timeoutMs, reach.maxTimeoutMs) }
}

/** Returns what is wrong with the data of a new job, as far as that shows without resolving a name; undefined: nothing. */
export function faultOfRequest(data: unknown, reach: ForwardReach): RequestFault | undefined {
  const request = attempt(() => {
    const parsed = read(data, reach)
    if ((parsed.timeoutMs ?? 0) <= reach.maxTimeoutMs) return parsed
    const expected = `a whole number of milliseconds from 1 to ${reach.maxTimeoutMs}`
    throw new Unsendable(`expected timeoutMs to be ${expected}, got a longer time`, 'timeoutMs')
  })
  return 'detail' in request ? request : undefined
}

function attempt(parse: () => CheckedRequest): CheckedRequest | RequestFault {
  try {
    return parse()
  } catch (error) {
    if (error instanceof Unsendable) return error.fault
    throw error
  }
}

function read(data: unknown, { allowed, privateHosts, secretOrigins }: ForwardReach): CheckedRequest {
  const { method, url: text, headers, body: given, timeoutMs } = parse(data)
  const url = readUrl(text)
  const origin = findOrigin(url, allowed)
  if (origin === undefined) throw new Unsendable(`the origin ${quote(url.origin)} is not allowed`, 'url')
  const unreachable = faultOfAddress(url, privateHosts)
  if (unreachable !== undefined) throw new Unsendable(unreachable, 'url')
  const read = new Map(
    readHeaders(headers, (fault) => {
      throw new Unsendable(fault, 'headers')
    }),
  )
  for (const name of read.keys()) {
    const fault = faultOfJobHeader(name, secretOrigins.has(origin))
    if (fault !== undefined) throw new Unsendable(fault, 'headers')
  }
  if (given === undefined) return { method, url, origin, headers: read, body: undefined, timeoutMs }
  if (WITHOUT_BODY.has(method)) throw new Unsendable(`expected no body with ${method}, got one`, 'body')
  const isText = typeof given === 'string'
  if (!isText && !read.has('content-type')) read.set('content-type', 'application/json')
  return { method, url, origin, headers: read, body: isText ? given : JSON.stringify(given), timeoutMs }
}

function parse(data: unknown): z.output<typeof forwardRequestSchema> {
  const read = forwardRequestSchema.safeParse(data)
  if (read.success) return read.data
  const issue = read.error.issues[0]!
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
  throw new Unsendable(messageOf(issue), ...path.map(String))
}

/** Without the values, which are user data: this message is logged. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(forwardRequestSchema.shape).join(', ')
    return `unknown field ${quote(issue.keys[0]!)}: known are ${known}`
  }
  const [field, name] = issue.path.map(String)
  const what = name === undefined ? (field ?? 'the data') : `the header ${quote(name)}`
  return `expected ${what} to be ${issue.message}, got something else`
}

function readUrl(text: string): URL {
  const refuse = (detail: string) => new Unsendable(detail, 'url')
  if (text.length > LONGEST_URL) {
    throw refuse(`expected a url of at most ${LONGEST_URL} characters, got one of ${text.length}`)
  }
  if (UNCLEAN.test(text)) {
    throw refuse('expected a url without spaces, control characters and \\, got one with')
  }
  const url = parseUrl(text)
  if (url === undefined || !/^https?:\/\/[^/]/i.test(text)) {
    throw refuse('expected url to be an absolute http or https URL, got another')
  }
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) {
    throw refuse('expected a url without a user, got one with')
  }
  return url
}

class Unsendable extends Error {
  readonly fault: RequestFault

  constructor(detail: string, ...path: string[]) {
    super(detail)
    this.fault = { detail, path }
  }
}
