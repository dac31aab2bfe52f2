import { spawn } from 'node:child_process'
import { built } from './built.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

/** Runs `test/support/children/<name>.ts` in a process of its own. */
export function runChild(name: string, nodeFlags: readonly string[] = []) {
  const file = built(`test/support/children/${name}.ts`)
  const child = spawn(process.execPath, [...nodeFlags, file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const text = { out: '', err: '' }
  const waiters: (() => void)[] = []
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.out += chunk
    for (const wake of waiters) wake()
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text.err += chunk
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...text }))
  })
  return {
    ended,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves when it has written `line`, or has ended. */
    said: (line: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (text.out.includes(line)) resolve()
        }
        waiters.push(look)
        void ended.then(() => resolve())
        look()
      }),
  }
}
