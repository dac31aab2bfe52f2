import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** The machine, the Node and the versions that the figures belong to, in one line. */
export function describeMachine(
  rounds: number,
  peers: readonly string[],
  servers: readonly string[],
): string {
  const processors = cpus()
  const packages = [
    versionOf('../../package.json'),
    ...peers.map((name) => versionOf(`../node_modules/${name}/package.json`)),
    ...servers,
  ]
  return [
    `${processors[0]?.model.trim() ?? 'unknown processor'}, ${processors.length} cores`,
    `Node ${process.versions.node} on ${process.platform}`,
    packages.join(', '),
    `medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`,
  ].join('; ')
}

function versionOf(path: string): string {
  const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Record<
    string,
    string
  >
  return `${name} ${version}`
}
