import { createHash } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { createHttpApp, type HttpApp, type HttpOptions } from '../../../src/http.ts'
import { Shaper, type ShaperOptions } from '../../../src/index.ts'
import { Meter } from '../../../src/meter.ts'
import { VirtualClock } from '../../../src/testing.ts'

const MS = 1_000

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed where it is JSON, text otherwise. */
  readonly body: Body
}

/** What a test looks at in a body. */
type Body = Readonly<Record<string, unknown>> & {
  readonly errors?: readonly { readonly detail: string; readonly pointer?: string }[]
}

export interface Call {
  readonly body?: unknown
  /** Sent as it is, instead of `body` as JSON. */
  readonly raw?: NonNullable<RequestInit['body']>
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
}

/** An app before a shaper and a meter in memory, under one rule book, on virtual time that starts at 0. */
export class Api {
  readonly clock = new VirtualClock()
  readonly shaper: Shaper
  readonly meter: Meter
  readonly app: HttpApp

  constructor(
    limits: ShaperOptions['limits'] = { '*': '5, 2/s' },
    options: HttpOptions & { readonly jobDefaults?: ShaperOptions['jobDefaults'] } = {},
  ) {
    const { jobDefaults, ...http } = options
    this.shaper = new Shaper('api', { limits, clock: this.clock, ...(jobDefaults && { jobDefaults }) })
    const { clock, shaper } = this
    this.meter = new Meter('api', { limits: shaper.limits, clock })
    this.app = createHttpApp(shaper, {
      meter: this.meter,
      lagMs: () => 0,
      heap: () => ({ used: 0, limit: 2 ** 32 }),
      ...http,
    })
    onTestFinished(() => {
      this.app.endStreams()
    })
  }

  async call(method: string, path: string, call: Call = {}): Promise<Answer> {
    return read(await this.raw(method, path, call))
  }

  async raw(method: string, path: string, { body, raw, headers, token }: Call = {}): Promise<Response> {
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    return this.app.request(path, {
      method,
      headers: {
        ...(content !== undefined && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(content !== undefined && { body: content, duplex: 'half' }),
    } as RequestInit)
  }

  get(path: string, call: Call = {}): Promise<Answer> {
    return this.call('GET', path, call)
  }

  post(path: string, body?: unknown, call: Call = {}): Promise<Answer> {
    return this.call('POST', path, { ...call, body })
  }

  /** One job for the key, as it stands in a path. */
  enqueue(key: string, job: object = { data: null }, call: Call = {}): Promise<Answer> {
    return this.post(`/v1/buckets/${key}/jobs`, job, call)
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms * MS)
  }
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.includes('json') === true
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson ? JSON.parse(text) : text) as Body,
  }
}

/** The answer is the problem of this name, complete and of the right media type. */
export function expectProblem(answer: Answer, status: number, name: string, details: object = {}): void {
  expect(answer.body).toMatchObject({
    type: `urn:velvet-rope:problem:${name}`,
    title: expect.any(String),
    status,
    instance: `urn:request:${answer.headers.get('x-request-id')}`,
    ...details,
  })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
}

export function sha256(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Something that happens once, for a test to wait for. */
export function signal<Value = void>() {
  let give: (value: Value) => void = () => undefined
  const given = new Promise<Value>((resolve) => {
    give = resolve
  })
  return { given, give }
}
