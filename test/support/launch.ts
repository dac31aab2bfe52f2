import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { built } from './built.ts'

export interface Launched {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command in a process of its own, which does not outlive the test. */
export function launch(args: readonly string[], input = '', env: NodeJS.ProcessEnv = {}) {
  return launchProgram(process.execPath, [built('src/cli/main.ts'), ...args], input, env)
}

/** Runs any program so. */
export function launchProgram(
  program: string,
  args: readonly string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
) {
  const child = spawn(program, args, {
    env: { ...process.env, FORCE_COLOR: undefined, REDIS_URL: undefined, ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const written = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      written[name] += chunk
      for (const look of waiting) look()
    })
  }
  const ended = new Promise<Launched>((resolve) => {
    child.on('close', (code) => resolve({ code, ...written }))
  })
  child.stdin.end(input)
  const whenWritten = <Found>(find: (all: string) => Found | undefined, what: string) =>
    new Promise<Found>((resolve, reject) => {
      const look = () => {
        const found = find(written.stdout) ?? find(written.stderr)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      void ended.then(({ code }) =>
        reject(new Error(`ended with ${code}, without ${what}: ${written.stderr}`)),
      )
      look()
    })
  return {
    ended,
    /** So far. */
    written: written as Readonly<typeof written>,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves when it has written `text`; rejects when it ends without. */
    said: async (text: string) => void (await whenWritten((all) => all.includes(text) || undefined, text)),
    /** The same for a pattern; resolves with what matched. */
    saidLike: (pattern: RegExp) => whenWritten((all) => pattern.exec(all) ?? undefined, String(pattern)),
  }
}
