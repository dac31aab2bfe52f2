import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { shardTag } from '../../../../src/redis/scripts/keys.ts'
import { SlotMigration } from '../../slot-migration.ts'
import { hashOfBullMq } from '../code-points.ts'
import { hostNow } from '../host-time.ts'
import type { Field } from './field.ts'
import type { Fault } from './plan.ts'

const SECOND = 1_000_000
/** How far back a killed Redis may forget: with everysec, it may hold a write back for two seconds. */
const HELD_BACK = 2.5 * SECOND
/** What a master may have answered before its replica had it, in the network of one machine. */
const REPLICATION = 0.5 * SECOND
const FLUSH_EVERY_MS = 20

/** Does one thing to a run; resolves when it is over. */
export async function carryOut(field: Field, fault: Fault): Promise<void> {
  switch (fault.do) {
    case 'kill': {
      const player = field.player(fault.role, fault.nth)
      await field.kill(player)
      if (fault.role === 'worker' && (fault.replace || !field.hasWorker)) await field.replace(fault.nth)
      return
    }
    case 'crash':
      await field.crash(field.player(fault.role, fault.nth), fault.how)
      if (fault.role === 'worker') await field.replace(fault.nth)
      return
    case 'stop':
      return field.stop(field.player(fault.role, fault.nth), fault.forMs)
    case 'weather':
    case 'lose replies':
    case 'reset':
      return disturbNetwork(field, fault)
    default: {
      const from = hostNow()
      await disturbRedis(field, fault)
      field.file.write({ kind: 'disturbed', from, until: hostNow() })
    }
  }
}

type OfProcess = 'kill' | 'crash' | 'stop' | 'weather' | 'lose replies' | 'reset'

async function disturbRedis(field: Field, fault: Exclude<Fault, { do: OfProcess }>): Promise<void> {
  switch (fault.do) {
    case 'kill redis':
      return killRedis(field, fault.awayMs)
    case 'lose writes':
      return loseWrites(field, fault)
    case 'stop redis':
      return stopRedis(field, fault.forMs)
    case 'flush scripts':
      return flushScripts(field, fault.forMs)
    case 'fill memory':
      return fillMemory(field, fault.forMs)
    case 'lack replicas':
      return lackReplicas(field, fault.forMs)
    case 'fail disk':
      return failDisk(field, fault.forMs, fault.error)
    case 'move clock':
      field.file.write({ kind: 'moved', at: hostNow(), by: fault.byMs * 1_000 })
      field.store.clock!.step(fault.byMs)
      return field.note(`the clock of Redis moved by ${fault.byMs} ms`)
    case 'fail over':
      return failOver(field)
    case 'reshard':
      return reshard(field, fault)
  }
}

async function disturbNetwork(
  field: Field,
  fault: Fault & { do: 'weather' | 'lose replies' | 'reset' },
): Promise<void> {
  const { child, network } = field.player(fault.role, fault.nth)
  if (network === undefined || !child.isAlive) return
  const from = hostNow()
  const noteDisturbed = () =>
    field.file.write({ kind: 'disturbed', path: child.plan.file, from, until: hostNow() })
  if (fault.do === 'reset') {
    field.note(`RST on every connection of ${child.name}`)
    network.reset()
    noteDisturbed()
    return
  }
  if (fault.do === 'lose replies') {
    const { match: script, arriving, times } = fault
    const match = script === undefined ? {} : { match: hashOfBullMq(script) }
    field.note(
      `${child.name} loses ${times} replies${script ? ` of ${script}` : ''}, after ${arriving} bytes each`,
    )
    network.lose({ ...match, arriving, times, onLost: noteDisturbed })
    return
  }
  field.note(`the network of ${child.name} for ${fault.forMs} ms: ${JSON.stringify(fault.weather)}`)
  network.weather = fault.weather
  await sleep(fault.forMs)
  network.mend()
  field.note(`the network of ${child.name} is as before`)
  noteDisturbed()
}

async function killRedis(field: Field, awayMs: number): Promise<void> {
  const { store } = field.plan
  const at = hostNow()
  await field.store.master.kill()
  field.note(`SIGKILL of Redis, which is away for ${awayMs} ms`)
  await sleep(awayMs)
  await field.store.master.restart()
  field.note('Redis is back')
  if (store.kind === 'single' && store.fsync === 'everysec')
    field.file.write({ kind: 'lost', from: at - HELD_BACK, at, to: hostNow() })
  if (store.kind === 'single' && store.fsync === 'none')
    field.file.write({ kind: 'lost', from: 0, at, to: hostNow() })
}

/** As after a loss of power, or a start from an old copy: the file is as long as it was, or not even that. */
async function loseWrites(
  field: Field,
  { lastMs, bytes, awayMs }: Fault & { do: 'lose writes' },
): Promise<void> {
  const { master } = field.store
  const from = hostNow()
  const [path] = appendedFiles(field)
  if (path === undefined) throw new Error('expected Redis to have a file of commands')
  const { size } = statSync(path)
  await sleep(lastMs)
  const at = hostNow()
  await master.kill()
  truncateSync(path, Math.max(0, size - bytes))
  field.note(`Redis dies and loses the last ${lastMs} ms and ${bytes} bytes; it is away for ${awayMs} ms`)
  await sleep(awayMs)
  await master.restart()
  field.note('Redis is back')
  field.file.write({ kind: 'lost', from: from - HELD_BACK, at, to: hostNow() })
}

async function stopRedis(field: Field, forMs: number): Promise<void> {
  field.note(`Redis stands still for ${forMs} ms`)
  field.store.master.pause()
  await sleep(forMs)
  field.store.master.resume()
  field.note('Redis goes on')
}

async function flushScripts(field: Field, forMs: number): Promise<void> {
  field.note(`SCRIPT FLUSH every ${FLUSH_EVERY_MS} ms for ${forMs} ms`)
  const until = hostNow() + forMs * 1_000
  await field.store.command(async (client) => {
    while (hostNow() < until) {
      await client.script('FLUSH')
      await sleep(FLUSH_EVERY_MS)
    }
  })
}

async function fillMemory(field: Field, forMs: number): Promise<void> {
  await field.store.command(async (client) => {
    const [, used] = /used_memory:(\d+)/.exec(await client.info('memory'))!
    field.note(`maxmemory below what Redis uses (${used} bytes) for ${forMs} ms`)
    await client.config('SET', 'maxmemory', `${Math.floor(Number(used) * 0.9)}`)
    await sleep(forMs)
    await client.config('SET', 'maxmemory', '0')
    field.note('no maxmemory any more')
  })
}

async function lackReplicas(field: Field, forMs: number): Promise<void> {
  await field.store.command(async (client) => {
    field.note(`Redis asks for a replica and has none for ${forMs} ms: it refuses writes`)
    await client.config('SET', 'min-replicas-to-write', '1')
    await sleep(forMs)
    await client.config('SET', 'min-replicas-to-write', '0')
    field.note('Redis takes writes again')
  })
}

/** Every write to the file of Redis, and every sync of it, fails. With `always`, Redis gives up and ends. */
async function failDisk(field: Field, forMs: number, error: 'EIO' | 'ENOSPC'): Promise<void> {
  const { master } = field.store
  const calls = error === 'EIO' ? 'fdatasync,fsync' : 'write'
  const args = [
    '-f',
    '-q',
    '-p',
    `${master.pid}`,
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:error=${error}`,
  ]
  // Sockets and pipes are written to as well: only what goes to the file may fail.
  const paths = error === 'ENOSPC' ? appendedFiles(field) : []
  const strace = spawn('strace', [...args, ...paths.flatMap((path) => ['-P', path])], { stdio: 'ignore' })
  field.note(`the disk of Redis answers ${error} for ${forMs} ms`)
  await sleep(forMs)
  await end(strace)
  if (master.isRunning) field.note('the disk is well again')
  else {
    await master.restart()
    field.note('Redis had ended; it is back, and the disk is well again')
  }
}

function appendedFiles(field: Field): string[] {
  const { dir } = field.store.master
  return readdirSync(`${dir}/appendonlydir`)
    .filter((name) => name.endsWith('.aof'))
    .map((name) => `${dir}/appendonlydir/${name}`)
}

async function end(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const ended = new Promise((resolve) => process.once('close', resolve))
  process.kill('SIGTERM')
  await ended
}

async function failOver(field: Field): Promise<void> {
  const { store } = field
  if (field.plan.store.kind !== 'replicated') return
  const { behindMs, skewMs, readOnlyMs = 0 } = field.plan.store
  const from = hostNow()
  store.cutReplica()
  field.note(`the replica hears nothing for ${behindMs} ms`)
  await sleep(behindMs)
  const at = hostNow()
  await store.loseMaster()
  if (readOnlyMs > 0) {
    for (const { network } of field.everyone) network?.retarget(store.live.port!)
    field.note(`all are led to the replica, which refuses writes for ${readOnlyMs} ms`)
    await sleep(readOnlyMs)
  }
  await store.promote()
  // From this moment on the other clock counts: nothing was asked of it before.
  if (skewMs !== 0) field.file.write({ kind: 'moved', at: hostNow(), by: skewMs * 1_000 })
  field.file.write({ kind: 'lost', from: from - REPLICATION, at, to: hostNow() })
  if (readOnlyMs === 0) for (const { network } of field.everyone) network?.retarget(store.live.port!)
  field.note(`failover to the replica, whose clock is ${skewMs} ms ahead`)
}

async function reshard(field: Field, { shard, step, pauseMs }: Fault & { do: 'reshard' }): Promise<void> {
  const { cluster } = field.store
  using migration = await SlotMigration.begin(cluster!, shardTag(field.prefix, 'campaign', shard))
  field.note(`slot ${migration.slot} moves, ${step} keys at a time`)
  for (let names = await migration.left(step); names.length > 0; names = await migration.left(step)) {
    await migration.move(names)
    await sleep(pauseMs)
  }
  await migration.finish()
  field.note(`slot ${migration.slot} has moved`)
}
