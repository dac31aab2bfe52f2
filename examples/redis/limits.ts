/** The same for producers and workers: 20 may wait, 4 start per second, for each tenant and over all processes. */
export const options = {
  limits: { '*': '20, 4/s' },
  connection: process.env['REDIS_URL'] ?? 'redis://localhost',
}
