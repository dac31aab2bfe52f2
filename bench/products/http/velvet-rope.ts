import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { limitOf } from '../velvet-rope.ts'
import type { HttpProduct, HttpSetup } from './product.ts'

const COMMAND = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))

export const ropeInMemory: HttpProduct = {
  name: 'velvet-rope',
  setting: (pace) => `in memory, limit '${limitOf(pace)}'`,
  serve: (setup) => serve(setup, []),
}

export const ropeOnRedis: HttpProduct = {
  name: 'velvet-rope',
  setting: (pace) => `on Redis, limit '${limitOf(pace)}'`,
  serve: (setup) => serve(setup, ['--redis', `unix://${setup.socket}`]),
}

/** The command itself, with its metrics and its log, as somebody would run it. */
function serve({ pace }: HttpSetup, flags: readonly string[]): Promise<string> {
  const args = [COMMAND, 'serve', '--listen', '127.0.0.1:0', '--limit', limitOf(pace), ...flags]
  const service = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] })
  process.once('exit', () => service.kill('SIGKILL'))
  return new Promise((resolve, reject) => {
    let said = ''
    service.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < 10_000) said += text
      const [, url] = /"url":"(http:[^"]+)"/.exec(said) ?? []
      if (url !== undefined) resolve(url)
    })
    service.once('close', (code) => reject(new Error(`the service ended with ${code}: ${said}`)))
  })
}
