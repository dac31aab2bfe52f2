import { COMMANDS } from './commands/all.ts'
import type { Command, Wait } from './commands/command.ts'
import { Keyspace, type KeyspaceHost } from './keyspace.ts'
import { CommandError, ErrorReply, type Reply } from './reply.ts'
import { Scripts } from './scripts.ts'
import { Settings } from './settings.ts'
import { Waiting } from './waiting.ts'

/** The world around a store. */
export interface Host {
  /** Microseconds since 1970. */
  nowUs(): number
  /** Lets the moment pass that a command takes. */
  readonly spend?: () => void
  /** Calls `run` at that time; what it returns calls that off. */
  wake(atUs: number, run: () => void): () => void
  /** From 0 up to, and without, 1. */
  random(): number
}

const DATABASES = 16
/** After so many commands, what has ended is removed also where no command asks for it. */
const SWEEP_EVERY = 5_000
/** What a server needs without any data. */
const BASE_BYTES = 900_000

/** Data, settings and scripts of one server; sessions run their commands on it. */
export class Server implements KeyspaceHost {
  readonly host: Host
  readonly databases: readonly Keyspace[]
  readonly settings = new Settings()
  readonly scripts = new Scripts()
  readonly waiting = new Waiting()
  /** Functions to call when a key changes, by database and key. */
  readonly watchers = new Map<Keyspace, Map<string, Set<() => void>>>()
  /** Refuses all but a few commands, as while it reads its data after a start. */
  isLoading = false
  /** The error with which it refuses writes, as a replica does, or a master that has lost its replicas. */
  refusal: string | undefined
  nowMs = 0
  startedMs: number
  runId: string
  commands = 0

  constructor(host: Host) {
    this.host = host
    this.databases = Array.from({ length: DATABASES }, () => new Keyspace(this))
    this.runId = this.#newRunId()
    this.startedMs = Math.floor(host.nowUs() / 1_000)
    this.nowMs = this.startedMs
  }

  changed(keyspace: Keyspace, key: string): void {
    if (this.watchers.size > 0) {
      for (const notify of this.watchers.get(keyspace)?.get(key) ?? []) notify()
    }
    this.waiting.note(keyspace, key)
  }

  /** The time stands still while a command runs. */
  begin(): void {
    this.host.spend?.()
    this.nowMs = Math.floor(this.host.nowUs() / 1_000)
    if (++this.commands % SWEEP_EVERY === 0) for (const database of this.databases) database.expireAll()
  }

  get usedMemory(): number {
    return this.databases.reduce((sum, database) => sum + database.bytes, BASE_BYTES)
  }

  get isFull(): boolean {
    const { maxmemory } = this.settings
    return maxmemory > 0 && this.usedMemory > maxmemory
  }

  restart(): void {
    this.runId = this.#newRunId()
    this.startedMs = Math.floor(this.host.nowUs() / 1_000)
    this.scripts.clear()
    this.waiting.clear()
    this.watchers.clear()
  }

  #newRunId(): string {
    return Array.from({ length: 40 }, () => Math.floor(this.host.random() * 16).toString(16)).join('')
  }
}

const aliases = new Map<string, Command>()

/** A command by its name, in letters of any case. */
export function findCommand(name: string): Command | undefined {
  const known = aliases.get(name)
  if (known !== undefined) return known
  const command = COMMANDS.get(name.toLowerCase())
  if (command !== undefined) aliases.set(name, command)
  return command
}

/** Runs a command; a refusal is its reply. */
export function attempt(body: () => Reply | Wait): Reply | Wait {
  try {
    return body()
  } catch (thrown) {
    if (thrown instanceof CommandError) return new ErrorReply(thrown.message)
    throw thrown
  }
}
