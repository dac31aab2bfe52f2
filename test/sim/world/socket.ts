import { EventEmitter } from 'node:events'
import type { Connection } from './connection.ts'
import type { SimProcess } from './process.ts'
import { type SimTimeout, timers } from './timers.ts'

/**
 * What `net.createConnection` returns in a world: as much of a socket as clients of Redis use. Bytes are never kept back,
 * so a write is always taken.
 */
export class SimSocket extends EventEmitter {
  readonly process: SimProcess
  readonly remoteAddress = '10.0.0.1'
  readonly remotePort = 6379
  readonly remoteFamily = 'IPv4'
  readonly localAddress: string
  connecting = true
  destroyed = false
  readable = true
  /** Clients look at `ended` to learn whether a write would fail. */
  readonly _writableState = { ended: false }
  #connection: Connection | undefined
  #unsent: Buffer[] = []
  #idle: SimTimeout | undefined
  #idleMs = 0
  #isClosed = false

  constructor(owner: SimProcess, localAddress: string) {
    super()
    this.process = owner
    this.localAddress = localAddress
  }

  get writable(): boolean {
    return !this.destroyed && !this._writableState.ended
  }

  get readyState(): string {
    return this.connecting ? 'opening' : this.destroyed ? 'closed' : 'open'
  }

  // What the network calls

  connected(connection: Connection): void {
    this.connecting = false
    this.#connection = connection
    this.#touch()
    this.emit('connect')
    this.emit('ready')
    for (const bytes of this.#unsent.splice(0)) connection.toServer(bytes)
    if (this._writableState.ended) connection.closeByClient()
  }

  failed(code: string): void {
    if (!this.destroyed) this.destroy(systemError(code, 'connect'))
  }

  onBytes(bytes: Buffer): void {
    if (this.destroyed) return
    this.#touch()
    this.emit('data', bytes)
  }

  onEnd(why: 'closed' | 'reset'): void {
    if (this.destroyed) return
    if (why === 'reset') return void this.destroy(systemError('ECONNRESET', 'read'))
    this.readable = false
    this.emit('end')
    // Both directions end together, as with `allowHalfOpen: false`.
    this.destroy()
  }

  // What clients call

  write(data: string | Buffer, encoding?: BufferEncoding | (() => void), done?: () => void): boolean {
    const callback = typeof encoding === 'function' ? encoding : done
    if (!this.writable) {
      this.#fail(new Error('write after end'))
      return false
    }
    if (this.process.write()) {
      const bytes =
        typeof data === 'string' ? Buffer.from(data, encoding as BufferEncoding) : Buffer.from(data)
      if (this.#connection === undefined) this.#unsent.push(bytes)
      else this.#connection.toServer(bytes)
    }
    this.#touch()
    if (callback !== undefined) process.nextTick(callback)
    return true
  }

  end(data?: string | Buffer): this {
    if (this._writableState.ended || this.destroyed) return this
    if (data !== undefined) this.write(data)
    this._writableState.ended = true
    if (this.process.isAlive) this.#connection?.closeByClient()
    return this
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.connecting = false
    this.#idle?.close()
    if (this.process.isAlive && !this._writableState.ended) this.#connection?.closeByClient()
    this._writableState.ended = true
    process.nextTick(() => this.#close(error))
    return this
  }

  destroySoon(): void {
    this.destroy()
  }

  resetAndDestroy(): this {
    return this.destroy()
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#idleMs = ms
    this.#idle?.close()
    this.#idle = undefined
    if (listener !== undefined) {
      if (ms > 0) this.once('timeout', listener)
      else this.off('timeout', listener)
    }
    this.#touch()
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setEncoding(): this {
    throw new Error('expected a client that reads bytes')
  }

  pause(): this {
    throw new Error('expected a client that reads what comes')
  }

  resume(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  cork(): void {}

  uncork(): void {}

  #touch(): void {
    if (this.#idleMs <= 0 || this.destroyed) return
    if (this.#idle === undefined) {
      this.#idle = timers(this.process).set(() => this.emit('timeout'), this.#idleMs, false)
    } else this.#idle.refresh()
  }

  #fail(error: Error): void {
    process.nextTick(() => this.emit('error', error))
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (error !== undefined) this.emit('error', error)
    this.emit('close', error !== undefined)
  }
}

function systemError(code: string, syscall: string): Error {
  const error = new Error(`${syscall} ${code} 10.0.0.1:6379`)
  return Object.assign(error, { code, syscall, errno: -1, address: '10.0.0.1', port: 6379 })
}
