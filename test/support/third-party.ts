import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Call {
  readonly at: number
  readonly account: string
  readonly jobId: string
  readonly attempt: number
  readonly status: 200 | 429
}

export interface ThirdPartyOptions {
  readonly perSecond: number
  readonly burst: number
  /** What it says at least when it refuses. */
  readonly retryAfterS?: number
}

/** A third-party API: each account has a token bucket of its own, and a call that comes too soon gets a Retry-After. */
export class ThirdParty {
  readonly calls: Call[] = []
  readonly url: string
  readonly #server: ReturnType<typeof createServer>
  readonly #tokens = new Map<string, { left: number; at: number }>()
  readonly #burst: number
  readonly #retryAfterS: number
  readonly #watchers = new Set<() => void>()
  #perSecond: number

  private constructor(
    server: ReturnType<typeof createServer>,
    { perSecond, burst, retryAfterS = 1 }: ThirdPartyOptions,
  ) {
    this.#server = server
    this.#perSecond = perSecond
    this.#burst = burst
    this.#retryAfterS = retryAfterS
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(options: ThirdPartyOptions): Promise<ThirdParty> {
    let api: ThirdParty | undefined
    const server = createServer((request, response) => api!.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    api = new ThirdParty(server, options)
    return api
  }

  /** Changes the limit without notice. */
  changeLimit(perSecond: number): void {
    this.#perSecond = perSecond
  }

  get refusals(): Call[] {
    return this.calls.filter(({ status }) => status === 429)
  }

  /** The jobs that were done. */
  get done(): Set<string> {
    return new Set(this.calls.filter(({ status }) => status === 200).map(({ jobId }) => jobId))
  }

  /** Resolves when it holds after a call. */
  async when(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => void this.#watchers.add(resolve))
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const account = request.url!.split('/')[1]!
    const waitMs = this.#take(account)
    const status = waitMs === 0 ? 200 : 429
    this.calls.push({
      at: performance.now(),
      account,
      jobId: String(request.headers['idempotency-key']).replace(/^.*:/, ''),
      attempt: Number(request.headers['shaper-attempt']),
      status,
    })
    request.resume()
    if (status === 429)
      response.setHeader('retry-after', Math.max(this.#retryAfterS, Math.ceil(waitMs / 1_000)))
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? 'sent' : 'slow down')
    const watchers = [...this.#watchers]
    this.#watchers.clear()
    for (const wake of watchers) wake()
  }

  /** Milliseconds until there is a token; 0 when one was taken. */
  #take(account: string): number {
    const now = performance.now()
    const bucket = this.#tokens.get(account) ?? { left: this.#burst, at: now }
    const left = Math.min(this.#burst, bucket.left + ((now - bucket.at) / 1_000) * this.#perSecond)
    this.#tokens.set(account, { left: left >= 1 ? left - 1 : left, at: now })
    return left >= 1 ? 0 : ((1 - left) / this.#perSecond) * 1_000
  }
}
