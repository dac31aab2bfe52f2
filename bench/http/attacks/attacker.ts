import { attackNamed, type Target } from './attack.ts'

/** The process of an attacker: `attacker.ts NAME TARGET`. It ends with its parent. */
const [name = '', target = '{}'] = process.argv.slice(2)
process.on('disconnect', () => process.exit())
await attackNamed(name).run(JSON.parse(target) as Target)
