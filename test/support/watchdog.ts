import { type ChildProcess, spawn } from 'node:child_process'

export interface Watch {
  /** The signal that ends the server immediately, with all its processes: `KILL`, or a name that it knows. */
  readonly signal: string
  /** Empty: none. */
  readonly dirToRemove: string
}

/** Ends `server` once this process is gone: then the pipe between them closes, even after SIGKILL. */
export function watch(server: ChildProcess, { signal, dirToRemove }: Watch): ChildProcess {
  // A server that ends in an order of its own may still write while its files are removed.
  const script = 'cat; kill -"$1" "$2"; test -z "$3" || rm -r "$3" 2>&- || { sleep 1; rm -rf "$3"; }'
  const watchdog = spawn('sh', ['-c', script, 'watchdog', signal, `${server.pid}`, dirToRemove], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Not in the group that Ctrl-C ends.
    detached: true,
  })
  watchdog.unref()
  return watchdog
}
