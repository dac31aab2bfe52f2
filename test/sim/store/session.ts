import { COMMANDS } from './commands/all.ts'
import { type Caller, type Command, Wait } from './commands/command.ts'
import type { Keyspace } from './keyspace.ts'
import { problemOf } from './problems.ts'
import { ErrorReply, type Reply, refuse, Status, Written } from './reply.ts'
import { ProtocolError, RespReader } from './resp-reader.ts'
import { type Protocol, serialize } from './resp-writer.ts'
import type { ScriptServer } from './scripts.ts'
import { attempt, findCommand, type Server } from './server.ts'
import { SESSION_COMMANDS } from './session-commands.ts'
import { Transaction } from './transaction.ts'

const NOT_QUEUED: ReadonlySet<string> = new Set(['exec', 'discard', 'multi', 'watch', 'quit'])
/** Data commands that no script may call. */
const NOT_IN_SCRIPTS: ReadonlySet<Command> = new Set(
  [...COMMANDS.values()].filter(({ name }) => /^b(?:[lr]|z)/.test(name)),
)
const QUEUED = new Status('QUEUED')

/** What a session needs of the store that it belongs to. */
export interface SessionOwner {
  readonly server: Server
  readonly sessions: ReadonlySet<Session>
  remove(session: Session): void
}

/** One connection of a client: its bytes, its commands in their order, and what it has chosen. */
export class Session implements Caller, ScriptServer {
  readonly id: number
  readonly server: Server
  readonly transaction: Transaction
  name = ''
  protocol: Protocol = 2
  db: Keyspace
  isFull = false
  readonly #owner: SessionOwner
  readonly #reader = new RespReader()
  #database = 0
  #output = ''
  #stopWaiting: (() => void) | undefined
  #isRunning = false
  #isClosed = false
  #isClosing = false
  #lastCommand = 'NULL'
  onBytes: (bytes: Buffer) => void = () => undefined
  onClose: () => void = () => undefined

  constructor(owner: SessionOwner, id: number) {
    this.#owner = owner
    this.id = id
    this.server = owner.server
    this.db = this.server.databases[0]!
    this.transaction = new Transaction(
      this.server,
      () => this.db,
      (words) => this.#runNow(words),
    )
  }

  get refusal(): string | undefined {
    return this.server.refusal
  }

  get nowMs(): number {
    return this.server.nowMs
  }

  nowUs = (): number => this.server.host.nowUs()
  random = (): number => this.server.host.random()

  get peers(): readonly Session[] {
    return [...this.#owner.sessions]
  }

  /** As CLIENT LIST shows it. */
  get description(): string {
    const address = `addr=127.0.0.1:${40_000 + this.id} laddr=127.0.0.1:6379 fd=8 name=${this.name} age=0 idle=0`
    const state = `flags=${this.#stopWaiting === undefined ? 'N' : 'b'} db=${this.#database} sub=0 psub=0 ssub=0`
    const multi = `multi=${this.transaction.isOpen ? 0 : -1}`
    return `id=${this.id} ${address} ${state} ${multi} cmd=${this.#lastCommand} user=default redir=-1 resp=${this.protocol}`
  }

  select(index: number): void {
    const database = this.server.databases[index]
    if (database === undefined) refuse('ERR DB index is out of range')
    this.#database = index
    this.db = database!
  }

  receive(bytes: Buffer): void {
    if (this.#isClosed || this.#isClosing) return
    this.#reader.push(bytes)
    this.#work()
  }

  /** The client has gone. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopWaiting?.()
    this.transaction.unwatch()
    this.#owner.remove(this)
  }

  /** The server closes it. */
  end(): void {
    if (this.#isClosed) return
    this.close()
    this.onClose()
  }

  closeAfterReply(): void {
    this.#isClosing = true
  }

  /** Runs all whole commands that have come, up to one that waits. */
  #work(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      while (!this.#isClosed && !this.#isClosing && this.#stopWaiting === undefined) {
        const words = this.#next()
        if (words === undefined) break
        this.#answer(words)
        this.server.waiting.serve()
      }
    } finally {
      this.#isRunning = false
    }
    this.#flush()
    if (this.#isClosing) this.end()
  }

  #next(): string[] | undefined {
    try {
      return this.#reader.next()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#send(new ErrorReply(`ERR ${error.message}`))
      this.#isClosing = true
      return undefined
    }
  }

  #answer(words: readonly string[]): void {
    this.server.begin()
    const reply = attempt(() => this.#dispatch(words))
    if (!(reply instanceof Wait)) this.#send(reply)
    else this.#wait(reply)
  }

  #wait(wait: Wait): void {
    const { host, waiting } = this.server
    const resume = (reply: Reply) => {
      this.#stopWaiting = undefined
      cancel()
      this.#send(reply)
      this.#work()
    }
    const remove = waiting.add(this.db, wait, resume)
    const onTimeout = () => {
      remove()
      resume(wait.onTimeout)
    }
    const cancel = wait.timeout > 0 ? host.wake(host.nowUs() + wait.timeout, onTimeout) : () => undefined
    this.#stopWaiting = () => {
      remove()
      cancel()
    }
  }

  #dispatch(words: readonly string[]): Reply | Wait {
    const name = words[0]!.toLowerCase()
    this.#lastCommand = name
    const command = findCommand(words[0]!)
    const known = command ?? (Object.hasOwn(SESSION_COMMANDS, name) ? SESSION_COMMANDS[name] : undefined)
    this.isFull = this.server.isFull
    const problem = problemOf(words, known, {
      isFull: this.isFull,
      isLoading: this.server.isLoading,
      refusal: this.server.refusal,
    })
    if (problem !== undefined) {
      return refuse(this.transaction.spoil(name, problem))
    }
    if (this.transaction.isOpen && !NOT_QUEUED.has(name)) {
      this.transaction.add(words)
      return QUEUED
    }
    return command === undefined ? SESSION_COMMANDS[name]!.run(this, words) : command.run(this, words)
  }

  /** A command of a transaction, which does not wait. */
  #runNow(words: readonly string[]): Reply {
    const name = words[0]!.toLowerCase()
    const command = findCommand(name)
    const reply = attempt(() =>
      command === undefined ? SESSION_COMMANDS[name]!.run(this, words) : command.run(this, words),
    )
    return new Written(serialize(reply instanceof Wait ? reply.onTimeout : reply, this.protocol))
  }

  scriptCommand(name: string): Command | 'refused' | undefined {
    const command = findCommand(name)
    if (command !== undefined) return NOT_IN_SCRIPTS.has(command) ? 'refused' : command
    const lower = name.toLowerCase()
    const other = Object.hasOwn(SESSION_COMMANDS, lower) ? SESSION_COMMANDS[lower] : undefined
    if (other === undefined) return undefined
    if (lower !== 'info' && lower !== 'flushall') return 'refused'
    return {
      name: lower,
      arity: other.arity,
      writes: lower === 'flushall',
      grows: false,
      run: () => other.run(this, [lower]),
    }
  }

  run(command: Command, words: readonly string[]): Reply | Wait {
    return command.run(this, words)
  }

  #send(reply: Reply): void {
    this.#output += serialize(reply, this.protocol)
  }

  #flush(): void {
    if (this.#output === '' || this.#isClosed) return
    const bytes = Buffer.from(this.#output, 'latin1')
    this.#output = ''
    this.onBytes(bytes)
  }
}
