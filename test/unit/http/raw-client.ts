import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type HttpServer, type ServeOptions, serveHttp } from '../../../src/http.ts'
import type { Api } from './api.ts'

/** A server of the test's own, on a free port. */
export async function serve(api: Api, options: Partial<ServeOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp(api.app, { port: 0, hasTokens: false, ...options })
  onTestFinished(() => server.close(0))
  return server
}

/** A client that sends bytes as it likes, and collects what comes. */
export class RawClient {
  readonly socket: Socket
  #received = ''
  #isClosed = false
  #onChange: () => void = () => undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      this.#received += text
      this.#onChange()
    })
    // Being cut off is what some are here for.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#isClosed = true
      this.#onChange()
    })
    onTestFinished(() => void socket.destroy())
  }

  static async to({ address }: HttpServer): Promise<RawClient> {
    const socket = connect(address.port, address.host)
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  get received(): string {
    return this.#received
  }

  send(...lines: string[]): void {
    this.socket.write(lines.join('\r\n'))
  }

  /** What has come when it looks like this, or when the other side has hung up. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#received) && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#onChange = resolve
      })
    }
    return this.#received
  }

  /** All that came before the other side hung up. */
  closed(): Promise<string> {
    return this.until(/(?!)/)
  }
}
