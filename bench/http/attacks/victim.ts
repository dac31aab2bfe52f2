import { Agent, request } from 'node:http'
import { setTimeout as pass } from 'node:timers/promises'

/** Requests a second. */
const RATE = 50
const LONGEST_MS = 10_000

export interface Experience {
  /** Milliseconds from when a request was due until its answer had come. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** Shares of all requests. */
  readonly share503: number
  readonly share429: number
  /** No answer at all, or none within ten seconds. */
  readonly shareFailed: number
  readonly requests: number
}

/** A client that enqueues a job every 20 ms, whether the answers before it have come or not. */
export class Victim {
  readonly #url: string
  readonly #token: string
  readonly #body: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 200 })
  /** The ids of the accepted jobs. */
  readonly accepted: string[] = []

  /** @param data of each job */
  constructor(url: string, token: string, data: unknown) {
    this.#url = url
    this.#token = token
    this.#body = JSON.stringify({ data })
  }

  async askFor(ms: number): Promise<Experience> {
    const answers: Promise<{ readonly took: number; readonly status: number }>[] = []
    const begun = performance.now()
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const now = performance.now()
        // A timer may fire late; what was due meanwhile counts from when it was due.
        while (answers.length < ((Math.min(now, begun + ms) - begun) / 1_000) * RATE) {
          answers.push(this.#ask(begun + (answers.length / RATE) * 1_000))
        }
        if (now - begun < ms) return
        clearInterval(timer)
        resolve()
      }, 5)
    })
    const all = await Promise.all(answers)
    const times = all.map(({ took }) => took).sort((one, other) => one - other)
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
    const shareOf = (wanted: number) => all.filter(({ status }) => status === wanted).length / all.length
    return {
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      share503: shareOf(503),
      share429: shareOf(429),
      shareFailed: shareOf(0),
      requests: all.length,
    }
  }

  /** How many accepted jobs the service does not know any more. */
  async countLost(): Promise<number> {
    let lost = 0
    for (const id of this.accepted) {
      let { status } = await this.#send('GET', `/v1/jobs/${id}`)
      // The rate of the token holds here, too.
      while (status === 429) {
        await pass(50)
        status = (await this.#send('GET', `/v1/jobs/${id}`)).status
      }
      if (status === 404) lost++
    }
    return lost
  }

  close(): void {
    this.#agent.destroy()
  }

  async #ask(due: number): Promise<{ readonly took: number; readonly status: number }> {
    const { status, text } = await this.#send('POST', '/v1/buckets/victim/jobs', this.#body)
    const took = performance.now() - due
    if (status === 202) this.accepted.push((JSON.parse(text) as { id: string }).id)
    return { took, status }
  }

  #send(
    method: string,
    path: string,
    body?: string,
  ): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': body.length }),
      }
      const options = { method, agent: this.#agent, headers, timeout: LONGEST_MS }
      const call = request(this.#url + path, options, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', () => resolve({ status: 0, text: '' }))
      })
      call.on('error', () => resolve({ status: 0, text: '' }))
      call.on('timeout', () => call.destroy())
      call.end(body)
    })
  }
}
