import { BackendUnavailableError } from '../../core/errors.ts'
import { countDown } from '../../core/within.ts'
import { type Client, makeClient, type Profile } from './client-profiles.ts'
import type { Origin } from './connection-input.ts'
import { asBackendError } from './redis-errors.ts'

const READY_WITHIN_MS = 1_800
const QUIT_WITHIN_MS = 500

/**
 * The clients of one shaper, each made when first needed. All reconnect by themselves, at most a second after the last try,
 * until `close`.
 */
export class Connection {
  readonly #origin: Origin
  readonly #onError: (error: Error) => void
  readonly #clients = new Set<Client>()
  /** The last error of each client that is in trouble: together they are one outage. */
  readonly #troubles = new Map<Client, Error>()
  #commands: Client | undefined
  /** Whether `commands` can be written to. */
  #isUsable = false
  #becomingReady: Promise<void> | undefined
  #isClosed = false

  /** @param onError called at most once for each outage: from the first error until all clients are ready again */
  constructor(origin: Origin, onError: (error: Error) => void) {
    this.#origin = origin
    this.#onError = onError
  }

  /** The client for scripts: fails at once while Redis is away; sends nothing twice. */
  get commands(): Client {
    if (this.#commands === undefined) {
      this.#commands = this.#make('commands')
      this.#commands.on('ready', () => {
        this.#isUsable = true
      })
      this.#commands.on('close', () => {
        this.#isUsable = false
      })
    }
    return this.#commands
  }

  /** Makes a client for BullMQ: it waits for Redis as long as it takes. */
  transport(): Client {
    return this.#make('transport')
  }

  /** Makes a client for commands that wait in Redis: its only time limit is that of the command. */
  blocking(): Client {
    return this.#make('blocking')
  }

  /** @throws BackendUnavailableError when `commands` are not ready within the time; the tries go on */
  ready(withinMs = READY_WITHIN_MS): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError())
    const client = this.commands
    if (this.#isUsable) return Promise.resolve()
    this.#becomingReady ??= this.#becomesReady(client, withinMs).finally(() => {
      this.#becomingReady = undefined
    })
    return this.#becomingReady
  }

  #becomesReady(client: Client, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        stop()
        client.off('ready', onReady)
        client.off('end', onEnd)
        how()
      }
      const onReady = () => settle(resolve)
      const onEnd = () => settle(() => reject(closedError()))
      const stop = countDown(withinMs, () => settle(() => reject(this.#notReady(client, withinMs))))
      client.on('ready', onReady)
      client.on('end', onEnd)
      if (client.status === 'end') onEnd()
    })
  }

  /**
   * Gives up the socket of `commands` and connects again; to be called after a command timed out, since the socket may be half
   * open. Commands on their way fail.
   */
  reconnect(): void {
    if (this.#isClosed || !this.#isUsable) return
    // Its status says `ready` until the socket is closed.
    this.#isUsable = false
    this.#commands?.disconnect(true)
  }

  /** Closes every client made here, in at most half a second; safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#isUsable = false
    await Promise.all([...this.#clients].map(quit))
  }

  #make(profile: Profile): Client {
    if (this.#isClosed) throw closedError()
    const client = makeClient(this.#origin, profile)
    this.#clients.add(client)
    // Without a listener, errors would be printed, or end the process.
    client.on('error', (error: Error) => this.#noteTrouble(client, error))
    client.on('ready', () => this.#troubles.delete(client))
    client.on('end', () => {
      this.#troubles.delete(client)
      this.#clients.delete(client)
    })
    return client
  }

  #noteTrouble(client: Client, error: Error): void {
    const isNew = this.#troubles.size === 0
    this.#troubles.set(client, error)
    if (isNew && !this.#isClosed) this.#onError(asBackendError(error))
  }

  #notReady(client: Client, withinMs: number): BackendUnavailableError {
    const trouble = this.#troubles.get(client)
    const cause = trouble === undefined ? undefined : asBackendError(trouble)
    const why = cause?.message ?? 'Redis is unavailable: no answer'
    return new BackendUnavailableError(`${why}; not ready within ${withinMs} ms`, { cause })
  }
}

async function quit(client: Client): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, QUIT_WITHIN_MS)
  })
  // Without a connection it cannot quit, and is only disconnected.
  await Promise.race([client.quit().catch(() => undefined), deadline])
  clearTimeout(timer)
  if (client.status !== 'end') client.disconnect()
}

function closedError(): BackendUnavailableError {
  return new BackendUnavailableError('Redis is unavailable: the connection was closed')
}
