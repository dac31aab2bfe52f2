import { ensureProgram, isOnPath } from './programs.ts'

/** Once for each run: the Python that runs the client of the service in `examples/`. */
export default function setup(): void {
  ensureProgram({
    debianPackage: 'python3',
    wants: 'Python 3',
    advice: 'install python3',
    isThere: () => isOnPath('python3'),
  })
}
