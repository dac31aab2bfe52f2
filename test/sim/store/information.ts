import type { Server } from './server.ts'

type Section = readonly (readonly [string, string | number])[]

/** What INFO says. */
export function informationOf(server: Server, clients: number, wanted: readonly string[]): string {
  const names = wanted.map((name) => name.toLowerCase())
  const isAll = names.length === 0 || names.some((name) => ['all', 'default', 'everything'].includes(name))
  const parts: string[] = []
  for (const [title, section] of Object.entries(sections(server, clients))) {
    if (!isAll && !names.includes(title.toLowerCase())) continue
    parts.push([`# ${title}`, ...section.map(([name, value]) => `${name}:${value}`), ''].join('\r\n'))
  }
  return parts.join('\r\n')
}

function sections(server: Server, clients: number): Readonly<Record<string, Section>> {
  const { settings, usedMemory } = server
  const isLogged = settings.get('appendonly') === 'yes'
  return {
    Server: [
      ['redis_version', '7.0.15'],
      ['redis_mode', 'standalone'],
      ['os', 'simulated'],
      ['arch_bits', 64],
      ['process_id', 1],
      ['run_id', server.runId],
      ['tcp_port', settings.get('port')],
      ['server_time_usec', server.host.nowUs()],
      ['uptime_in_seconds', Math.floor((server.nowMs - server.startedMs) / 1_000)],
    ],
    Clients: [
      ['connected_clients', clients],
      ['maxclients', settings.get('maxclients')],
      ['blocked_clients', server.waiting.count],
    ],
    Memory: [
      ['used_memory', usedMemory],
      ['used_memory_rss', usedMemory],
      ['used_memory_peak', usedMemory],
      ['number_of_cached_scripts', server.scripts.size],
      ['maxmemory', settings.maxmemory],
      ['maxmemory_policy', settings.get('maxmemory-policy')],
    ],
    Persistence: [
      ['loading', server.isLoading ? 1 : 0],
      ['aof_enabled', isLogged ? 1 : 0],
    ],
    Stats: [['total_commands_processed', server.commands]],
    Replication: [
      ['role', 'master'],
      ['connected_slaves', 0],
    ],
    Cluster: [['cluster_enabled', 0]],
    Keyspace: server.databases.flatMap(({ values, expires }, index) => {
      const text = `keys=${values.size},expires=${expires.size},avg_ttl=0`
      return values.size === 0 ? [] : [[`db${index}`, text] as const]
    }),
  }
}
