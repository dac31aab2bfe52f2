import { connection } from './data/live.ts'
import type { StreamState } from './data/live-stream.ts'
import { useStore } from './parts/hooks.ts'

const WORDS: Readonly<Record<StreamState, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
  sleeping: 'Paused',
  refused: 'Refused',
}

/** Whether the page is live. */
export function ConnectionSign() {
  const { state, problem } = useStore(connection)
  return (
    <span class={`connection is-${state}`} role="status" title={problem?.message}>
      <span class="connection-dot" aria-hidden="true" />
      {WORDS[state]}
    </span>
  )
}
