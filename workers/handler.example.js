/**
 * A handler for `velvet-rope work`. It starts at the rate of the job's key, never earlier. If it throws, the job fails.
 */
export default async function handle(job) {
  console.log(`${job.key}: job ${job.id} departs after ${(job.waitedMs / 1_000).toFixed(1)} s`)
}
