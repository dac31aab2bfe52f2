import { InvalidOptionsError } from '../src/core/errors.ts'
import { runService } from '../src/service/run-service.ts'
import { loadHandler } from './handler-file.ts'
import { runAsMain } from './run-as-main.ts'

/**
 * A worker process: runs a user's handler for a line on Redis until SIGTERM or SIGINT. Same as `velvet-rope work
 * ./handler.js` without flags: it reads velvet-rope.yaml in the working folder, and the environment.
 *
 *     node dist/workers/module.js ./handler.js
 */
await runAsMain(import.meta.url, async () => {
  const [file, ...more] = process.argv.slice(2)
  if (file === undefined || more.length > 0) {
    throw new InvalidOptionsError(
      'expected one handler file, such as node dist/workers/module.js ./handler.js; the rest comes from ' +
        'velvet-rope.yaml and the environment',
    )
  }
  await runService({ sources: { env: process.env }, api: false, work: await loadHandler(file) })
})
