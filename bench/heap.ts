/** Bytes that live objects and buffers take, after two full collections (the first may only queue finalizers). */
export function heapInUse(): number {
  if (gc === undefined) throw new Error('measure in a process that was started with --expose-gc')
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
