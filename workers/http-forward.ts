import { runService } from '../src/service/run-service.ts'
import { runAsMain } from './run-as-main.ts'

/**
 * A worker process: sends the jobs of a shared line as HTTP requests until SIGTERM or SIGINT. `velvet-rope work
 * --forward` without flags: velvet-rope.yaml of the working folder, and the environment.
 *
 *     node dist/workers/http-forward.js
 */
await runAsMain(import.meta.url, () =>
  runService({ sources: { env: process.env }, api: false, work: 'forward' }),
)
