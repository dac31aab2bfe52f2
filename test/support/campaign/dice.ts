/** Numbers from 0 to 1, 1 excluded, that look random (xorshift32). */
export function dice(seed: number): () => number {
  // Zero would stay zero.
  let state = Math.imul(seed + 1, 0x9e3779b1) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
