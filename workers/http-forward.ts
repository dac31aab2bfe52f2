import { runService } from '../src/service/run-service.ts'
import { runAsMain } from './run-as-main.ts'

/**
 * A worker process: sends the jobs of a line on Redis as HTTP requests until SIGTERM or SIGINT. Same as `velvet-rope
 * work --forward` without flags: it reads velvet-rope.yaml in the working folder, and the environment.
 *
 *     node dist/workers/http-forward.js
 */
await runAsMain(import.meta.url, () =>
  runService({ sources: { env: process.env }, api: false, work: 'forward' }),
)
