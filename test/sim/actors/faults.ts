import { type Fault, type Part, strikesBy, type When } from '../plan/fault.ts'
import type { Link } from '../world/link.ts'
import type { SimProcess } from '../world/process.ts'
import type { Scene } from './scene.ts'
import { work } from './work.ts'

const MS = 1_000

/** For so long a process was not heard of: by then what it held may be others'. Microseconds of the world. */
export interface Silence {
  readonly process: string
  readonly from: number
  readonly until: number
  /** Its machine or its process is gone: what it ran starts again in any case. */
  readonly isDeath: boolean
  /** What it ran may be given to others: its lease can have ended meanwhile. */
  readonly cause: 'itself' | 'its link' | 'everything'
  /** Its connections are broken, or it cannot make new ones. */
  readonly breaks: boolean
  /** The server started anew. */
  readonly isRestart?: boolean
}

/** A fault of the plan that has struck, and until when it lasts. Microseconds of the world. */
export interface Struck {
  readonly fault: Fault
  /** The process; absent: the server, or all. */
  readonly process?: string
  readonly from: number
  readonly until: number
}

/** Lets a fault of the plan happen. */
export function plant(scene: Scene, fate: SimProcess, fault: Fault, recast: (part: Part) => void): void {
  const later = (ms: number, run: () => void) => {
    fate.at(Math.max(ms * MS, fate.inner), 0, () => {
      if (!scene.isOver) run()
    })
  }
  const at = (ms: number, run: () => void) => {
    later(ms, () => {
      scene.healedAt = Math.max(scene.healedAt, fault.until * MS)
      run()
    })
  }
  const now = () => scene.world.present
  const note = (text: string) => scene.record.note(undefined, text)
  const victims = (part: Part): SimProcess[] =>
    part === 'all' ? [...scene.cast.values()].filter(({ isAlive }) => isAlive) : found(scene, part)
  const silence = (
    process: SimProcess,
    length: number,
    cause: Silence['cause'],
    breaks = false,
    from = now(),
  ) => {
    scene.silences.push({ process: process.name, from, until: from + length, isDeath: false, cause, breaks })
  }
  const struck = (length: number, process?: SimProcess, from = now()) => {
    scene.struck.push({ fault, from, until: from + length * MS, ...(process && { process: process.name }) })
  }

  switch (fault.kind) {
    case 'kill':
      strike(scene, fate, fault, (process) => {
        note(`kills the ${fault.how} of ${process.name}`)
        const from = now()
        struck(0, process)
        die(scene, process, fault.how, from)
        if (fault.back !== undefined) later(from / MS + fault.back, () => recast(fault.part))
      })
      return
    case 'stop':
    case 'block':
      strike(scene, fate, fault, (process) => {
        note(`${fault.kind === 'stop' ? 'stops' : 'blocks'} ${process.name} for ${span(fault.for)}`)
        const from = now()
        const until = fault.kind === 'stop' ? process.stop(fault.for * MS) : process.block(fault.for * MS)
        struck((until - from) / MS, process, from)
        silence(process, until - from, 'itself', false, from)
        scene.healedAt = Math.max(scene.healedAt, until)
      })
      return
    case 'close':
      at(fault.at, () => {
        for (const process of found(scene, fault.part)) {
          note(`closes ${process.name}`)
          struck(fault.drain ?? 0, process)
          scene.close(process, fault.drain)
          later(now() / MS + (fault.drain ?? 0) + fault.back, () => recast(fault.part))
        }
      })
      return
    case 'rest':
      at(fault.at, () => {
        for (const process of found(scene, fault.part)) {
          note(`closes the worker of ${process.name}, and begins another after ${span(fault.for)}`)
          struck(fault.for, process)
          process.at(now(), 0, () => void scene.workers.get(process)?.close())
          later(now() / MS + fault.for, () => void process.at(now(), 0, () => workAgain(scene, process)))
        }
      })
      return
    case 'hold': {
      const hold = (process: SimProcess) => {
        struck(fault.for, process)
        scene.network.link(process).hold(now() + fault.for * MS, fault.direction)
        silence(process, fault.for * MS, fault.part === 'all' ? 'everything' : 'its link')
      }
      const text = (name: string) => `cuts ${name} off for ${span(fault.for)} (${fault.direction})`
      if (fault.part === 'all') {
        at(fault.when.at, () => {
          note(text('all'))
          const until = now() + fault.for * MS
          scene.network.forNewcomers(until, (link) => link.hold(until, fault.direction))
          for (const process of victims('all')) hold(process)
        })
        return
      }
      strike(scene, fate, fault, (process) => {
        note(text(process.name))
        hold(process)
      })
      return
    }
    case 'reset':
      if (fault.part === 'all') {
        at(fault.when.at, () => {
          note('breaks all connections')
          for (const process of victims('all')) {
            struck(0, process)
            silence(process, 0, 'everything', true)
          }
          for (const connection of scene.network.connections()) connection.reset(now())
        })
        return
      }
      strike(scene, fate, fault, (process) => {
        later(now() / MS + fault.after, () => {
          note(`breaks the connections of ${process.name}`)
          struck(0, process)
          silence(process, 0, 'its link', true)
          for (const connection of scene.network.connections(process)) connection.reset(now())
        })
      })
      return
    case 'refuse':
      at(fault.at, () => {
        note(`refuses connections of ${fault.part} for ${span(fault.for)}`)
        const until = now() + fault.for * MS
        const refuse = (link: Link) => {
          link.refusesUntil = Math.max(link.refusesUntil, until)
        }
        if (fault.part === 'all') scene.network.forNewcomers(until, refuse)
        for (const process of victims(fault.part)) {
          refuse(scene.network.link(process))
          for (const connection of scene.network.connections(process)) connection.reset(now())
          struck(fault.for, process)
          silence(process, fault.for * MS, fault.part === 'all' ? 'everything' : 'its link', true)
        }
      })
      return
    case 'slow':
      at(fault.at, () => {
        note(`slows the link of ${fault.part} for ${span(fault.for)}`)
        for (const process of victims(fault.part)) {
          struck(fault.for, process)
          const { toServer, toClient } = scene.network.link(process)
          const usual = [toServer.delays, toClient.delays] as const
          toServer.delays = fault.there
          toClient.delays = fault.back
          later(now() / MS + fault.for, () => {
            toServer.delays = usual[0]
            toClient.delays = usual[1]
          })
        }
      })
      return
    case 'wall':
      at(fault.at, () => {
        for (const process of found(scene, fault.part)) {
          struck(0, process)
          process.stepWallClock(fault.by * MS)
        }
      })
      return
    default:
      plantInServer(scene, fate, fault)
  }
}

function workAgain(scene: Scene, process: SimProcess): void {
  if (scene.isClosing(process)) return
  const [, number] = /^worker-(\d+)/.exec(process.name)!
  work(scene, scene.plan.workers[Number(number) - 1]!, scene.shapers.get(process)!, process)
}

/** After that a process that ended is started again; milliseconds. */
const STARTED_AGAIN = 200

/** A handler ends its process at once; another takes its part soon. */
export function exit(
  scene: Scene,
  fate: SimProcess,
  process: SimProcess,
  id: string,
  recast: (part: Part) => void,
): void {
  if (!process.isAlive) return
  const from = scene.world.present
  const [part] = process.name.split('#')
  scene.exits.push(id)
  scene.record.note(undefined, `${id} ends ${process.name}`)
  scene.healedAt = Math.max(scene.healedAt, from + STARTED_AGAIN * MS)
  die(scene, process, 'process', from)
  fate.at(from + STARTED_AGAIN * MS, 0, () => recast(part!))
}

function plantInServer(
  scene: Scene,
  fate: SimProcess,
  fault: Extract<Fault, { kind: 'stall' | 'refusal' | 'restart' | 'step' | 'flush-scripts' }>,
): void {
  const { server, record } = scene
  const now = () => scene.world.present
  const all = (length: number) => {
    // Also of those that are closing, and play no part any more.
    for (const process of scene.shapers.keys()) {
      if (!process.isAlive) continue
      const from = now()
      scene.silences.push({
        process: process.name,
        from,
        until: from + length,
        isDeath: false,
        cause: 'everything',
        // A client makes a new connection when a replica refuses it.
        breaks: fault.kind !== 'stall',
        isRestart: fault.kind === 'restart',
      })
    }
  }
  fate.at(fault.at * MS, 0, () => {
    if (scene.isOver) return
    scene.healedAt = Math.max(scene.healedAt, fault.until * MS)
    scene.struck.push({ fault, from: now(), until: Math.max(now(), fault.until * MS) })
    switch (fault.kind) {
      case 'stall':
        record.note(undefined, `Redis stands still for ${span(fault.for)}`)
        server.process.stop(fault.for * MS)
        all(fault.for * MS)
        break
      case 'refusal':
        record.note(undefined, `Redis answers ${fault.says} for ${span(fault.for)}`)
        scene.refuseWrites(fault.says)
        all(fault.for * MS)
        fate.at(now() + fault.for * MS, 0, () => scene.refuseWrites(undefined))
        break
      case 'step':
        record.note(undefined, `the clock of Redis is set by ${span(fault.by)}`)
        server.step(fault.by * MS)
        break
      case 'flush-scripts':
        record.note(undefined, 'SCRIPT FLUSH')
        scene.command('SCRIPT', 'FLUSH')
        break
      case 'restart': {
        const { keeps } = fault
        const from = keeps === 'all' ? 'same' : keeps === 'nothing' ? 'empty' : scene.snapshotFor(fault)
        const what =
          keeps === 'all'
            ? 'all'
            : keeps === 'nothing'
              ? 'nothing'
              : `all but the last ${span(keeps.butLast)}`
        record.note(
          undefined,
          `Redis dies, and starts again after ${span(fault.down)} with ${what} that it had`,
        )
        server.crash()
        for (const connection of scene.network.connections()) connection.reset(now())
        fate.at(now() + fault.down * MS, 0, () => server.start(from))
        all(fault.down * MS)
        break
      }
    }
  })
}

/** Strikes the process that plays the part at the time, at its n-th event or write from then on, or in the end by time. */
function strike(
  scene: Scene,
  fate: SimProcess,
  { part, when, until }: Extract<Fault, { when: When }>,
  blow: (process: SimProcess) => void,
): void {
  fate.at(when.at * MS, 0, () => {
    if (scene.isOver) return
    let isOver = false
    const hit = (process: SimProcess) => {
      if (isOver || scene.isOver || !process.isAlive) return
      isOver = true
      scene.healedAt = Math.max(scene.healedAt, scene.world.present + (until - strikesBy(when)) * MS)
      blow(process)
    }
    for (const process of found(scene, part)) {
      if (when.event !== undefined) {
        const nth = process.events + when.event
        process.beforeEvent.push((count) => count === nth && hit(process))
      } else if (when.write !== undefined) {
        const nth = process.writes + when.write
        process.beforeWrite.push((count) => count === nth && hit(process))
      } else hit(process)
    }
    fate.at(strikesBy(when) * MS, 0, () => {
      for (const process of found(scene, part)) hit(process)
    })
  })
}

function found(scene: Scene, part: Part): SimProcess[] {
  const process = scene.cast.get(part)
  return process?.isAlive === true && !scene.isClosing(process) ? [process] : []
}

function span(ms: number): string {
  return ms >= 10_000 || ms <= -10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${ms.toFixed(3)} ms`
}

function die(scene: Scene, process: SimProcess, how: 'process' | 'machine', at: number): void {
  scene.silences.push({
    process: process.name,
    from: at,
    until: at,
    isDeath: true,
    cause: 'itself',
    breaks: true,
  })
  process.kill()
  scene.record.died(process, at)
  scene.network.bury(process, how)
  scene.onKilled(process)
}
