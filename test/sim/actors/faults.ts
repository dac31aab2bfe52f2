import { type Fault, type Part, strikesBy, type When } from '../plan/fault.ts'
import type { Link } from '../world/link.ts'
import type { SimProcess } from '../world/process.ts'
import type { Scene } from './scene.ts'

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
  const silence = (process: SimProcess, length: number, cause: Silence['cause']) => {
    const from = now()
    scene.silences.push({ process: process.name, from, until: from + length, isDeath: false, cause })
  }

  switch (fault.kind) {
    case 'kill':
      strike(scene, fate, fault, (process) => {
        note(`kills the ${fault.how} of ${process.name}`)
        const from = now()
        scene.silences.push({ process: process.name, from, until: from, isDeath: true, cause: 'itself' })
        process.kill()
        scene.network.bury(process, fault.how)
        scene.onKilled(process)
        if (fault.back !== undefined) later(from / MS + fault.back, () => recast(fault.part))
      })
      return
    case 'stop':
    case 'block':
      strike(scene, fate, fault, (process) => {
        note(`${fault.kind === 'stop' ? 'stops' : 'blocks'} ${process.name} for ${span(fault.for)}`)
        silence(process, fault.for * MS, 'itself')
        if (fault.kind === 'stop') process.stop(fault.for * MS)
        else process.block(fault.for * MS)
      })
      return
    case 'close':
      at(fault.at, () => {
        for (const process of found(scene, fault.part)) {
          note(`closes ${process.name}`)
          scene.close(process, fault.drain)
          later(now() / MS + (fault.drain ?? 0) + fault.back, () => recast(fault.part))
        }
      })
      return
    case 'hold': {
      const hold = (process: SimProcess) => {
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
          for (const connection of scene.network.connections()) connection.reset(now())
        })
        return
      }
      strike(scene, fate, fault, (process) => {
        later(now() / MS + fault.after, () => {
          note(`breaks the connections of ${process.name}`)
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
          silence(process, fault.for * MS, fault.part === 'all' ? 'everything' : 'its link')
        }
      })
      return
    case 'slow':
      at(fault.at, () => {
        note(`slows the link of ${fault.part} for ${span(fault.for)}`)
        for (const process of victims(fault.part)) {
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
        for (const process of found(scene, fault.part)) process.stepWallClock(fault.by * MS)
      })
      return
    default:
      plantInServer(scene, fate, fault)
  }
}

function plantInServer(
  scene: Scene,
  fate: SimProcess,
  fault: Extract<Fault, { kind: 'stall' | 'restart' | 'step' | 'flush-scripts' }>,
): void {
  const { server, record } = scene
  const now = () => scene.world.present
  const all = (length: number) => {
    for (const process of scene.cast.values()) {
      const from = now()
      scene.silences.push({
        process: process.name,
        from,
        until: from + length,
        isDeath: false,
        cause: 'everything',
      })
    }
  }
  fate.at(fault.at * MS, 0, () => {
    if (scene.isOver) return
    scene.healedAt = Math.max(scene.healedAt, fault.until * MS)
    switch (fault.kind) {
      case 'stall':
        record.note(undefined, `Redis stands still for ${span(fault.for)}`)
        server.process.stop(fault.for * MS)
        all(fault.for * MS)
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
