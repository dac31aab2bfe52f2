import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { RedisProcess } from './redis-process.ts'

const run = promisify(execFile)

export interface RedisCluster {
  readonly servers: readonly RedisProcess[]
  /** For `new Cluster(nodes)`. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Three masters without replicas, on free ports of 127.0.0.1; resolves when they take commands. */
export async function startCluster(): Promise<RedisCluster> {
  const servers: RedisProcess[] = []
  // One after the other: two that look for a port at the same time may find the same.
  for (let index = 0; index < 3; index++) {
    servers.push(await RedisProcess.start({ port: 'free', config: CLUSTER }))
  }
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`)
  try {
    await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '0', '--cluster-yes'])
    await Promise.all(servers.map(isUp))
  } catch (error) {
    await stop()
    throw error
  }
  const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port: port! }))
  return { servers, nodes, stop, [Symbol.asyncDispose]: stop }
}

const CLUSTER = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '2000' }

/** There is no event to wait for. */
async function isUp({ port }: RedisProcess): Promise<void> {
  for (;;) {
    const { stdout } = await run('redis-cli', ['-p', `${port}`, 'cluster', 'info'])
    if (stdout.includes('cluster_state:ok')) return
    await sleep(50)
  }
}
