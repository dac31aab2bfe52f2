/**
 * The shard of a key: by its first segment, so that a family of keys lives together. FNV-1a over the bytes, 32 bits;
 * it must never change, or a key would be looked for where it is not.
 */
export function shardOf(key: string, shards: number): number {
  if (shards === 1) return 0
  const end = key.indexOf('/')
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(end === -1 ? key : key.slice(0, end))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return hash % shards
}
