import type { Server } from './server.ts'

/** What INFO says. */
export function informationOf(server: Server, clients: number, wanted: readonly string[]): string {
  const names = wanted.map((name) => name.toLowerCase())
  const isAll = names.length === 0 || names.some((name) => ['all', 'default', 'everything'].includes(name))
  let text = ''
  for (const [title, lines] of SECTIONS) {
    if (!isAll && !names.includes(title.toLowerCase())) continue
    text += `${text === '' ? '' : '\r\n'}# ${title}\r\n${lines(server, clients)}`
  }
  return text
}

/** Each with its lines, each of which ends with a line break. Clients ask for all of them with every connection. */
const SECTIONS: readonly (readonly [title: string, lines: (server: Server, clients: number) => string])[] = [
  [
    'Server',
    ({ settings, runId, host, nowMs, startedMs }) =>
      'redis_version:7.0.15\r\nredis_mode:standalone\r\nos:simulated\r\narch_bits:64\r\nprocess_id:1\r\n' +
      `run_id:${runId}\r\ntcp_port:${settings.get('port')}\r\nserver_time_usec:${host.nowUs()}\r\n` +
      `uptime_in_seconds:${Math.floor((nowMs - startedMs) / 1_000)}\r\n`,
  ],
  [
    'Clients',
    ({ settings, waiting }, clients) =>
      `connected_clients:${clients}\r\nmaxclients:${settings.get('maxclients')}\r\nblocked_clients:${waiting.count}\r\n`,
  ],
  [
    'Memory',
    ({ settings, usedMemory, scripts }) =>
      `used_memory:${usedMemory}\r\nused_memory_rss:${usedMemory}\r\nused_memory_peak:${usedMemory}\r\n` +
      `number_of_cached_scripts:${scripts.size}\r\nmaxmemory:${settings.maxmemory}\r\n` +
      `maxmemory_policy:${settings.get('maxmemory-policy')}\r\n`,
  ],
  [
    'Persistence',
    ({ settings, isLoading }) =>
      `loading:${isLoading ? 1 : 0}\r\naof_enabled:${settings.get('appendonly') === 'yes' ? 1 : 0}\r\n`,
  ],
  ['Stats', ({ commands }) => `total_commands_processed:${commands}\r\n`],
  ['Replication', () => 'role:master\r\nconnected_slaves:0\r\n'],
  ['Cluster', () => 'cluster_enabled:0\r\n'],
  [
    'Keyspace',
    ({ databases }) => {
      const lines = databases.map(({ values, expires }, index) => {
        return values.size === 0 ? '' : `db${index}:keys=${values.size},expires=${expires.size},avg_ttl=0\r\n`
      })
      return lines.join('')
    },
  ],
]
