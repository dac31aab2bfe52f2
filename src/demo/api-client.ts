import { Agent, request } from 'node:http'

const CONNECTIONS = 32

/** Calls the API over keep-alive connections. */
export class ApiClient {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS })
  #underWay = 0

  constructor(port: number) {
    this.#port = port
  }

  /** Calls without a response so far. */
  get underWay(): number {
    return this.#underWay
  }

  /** Opens the connections and warms up both sides, so that no counted call pays for that. */
  async warmUp(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#send('GET', '/status')))
    }
  }

  /** Sends one message of the account; returns the status. */
  call(key: string): Promise<number> {
    return this.#send('POST', `/${key}/messages`)
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(method: string, path: string): Promise<number> {
    this.#underWay++
    return new Promise<number>((resolve, reject) => {
      request({ agent: this.#agent, host: '127.0.0.1', port: this.#port, method, path }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0))
      })
        .once('error', reject)
        .end()
    }).finally(() => void this.#underWay--)
  }
}
