import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { placesOf } from '../../../src/config/file-places.ts'
import { PathWatch } from '../../../src/config/path-watch.ts'
import { makeFolder } from './config-folder.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A watch that counts its notifications. */
async function follow(
  path: string,
): Promise<{ watch: PathWatch; notified: () => number; next: () => Promise<void> }> {
  let count = 0
  let onTold: (() => void) | undefined
  const watch = new PathWatch(path, () => {
    count++
    onTold?.()
  })
  onTestFinished(() => watch.close())
  const next = () =>
    new Promise<void>((resolve) => {
      onTold = resolve
    })
  await watch.refresh()
  return { watch, notified: () => count, next }
}

describe('the places that lead to a file', () => {
  it('are the file in its folder, and that folder in its parent', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'a'), '')
    const around = { folder: dirname(folder), name: basename(folder) }
    expect(await placesOf(join(folder, 'a'))).toEqual([around, { folder, name: 'a' }])
    expect(await placesOf(join(folder, '.', 'b', '..', 'a'))).toEqual([around, { folder, name: 'a' }])
  })

  it('are each link on the way, and where they lead', async () => {
    const folder = makeFolder()
    mkdirSync(join(folder, '1', 'deep'), { recursive: true })
    writeFileSync(join(folder, '1', 'file'), '')
    symlinkSync(join(folder, '1', 'deep'), join(folder, 'absolute'))
    symlinkSync('absolute/../file', join(folder, 'a'))
    expect(await placesOf(join(folder, 'a'))).toEqual([
      { folder, name: 'a' },
      { folder, name: 'absolute' },
      { folder, name: '1' },
      { folder: join(folder, '1'), name: 'file' },
    ])
  })

  it('end where something is missing or is no folder', async () => {
    const folder = makeFolder()
    const missing = await placesOf(join(folder, 'x', 'y', 'z', 'a'))
    expect(missing.at(-1)).toEqual({ folder, name: 'x' })
    writeFileSync(join(folder, 'x'), '')
    expect((await placesOf(join(folder, 'x', 'y', 'a'))).at(-1)).toEqual({
      folder: join(folder, 'x'),
      name: 'y',
    })
  })

  it('are few, even if links form a cycle', async () => {
    const folder = makeFolder()
    symlinkSync('b', join(folder, 'a'))
    symlinkSync('a', join(folder, 'b'))
    expect((await placesOf(join(folder, 'a'))).length).toBeLessThan(50)
  })
})

describe('watching a path', () => {
  it('reports when the folder of a link is moved away', async () => {
    const [root, elsewhere] = [makeFolder(), makeFolder()]
    writeFileSync(join(elsewhere, 'file'), '')
    mkdirSync(join(root, 'folder'))
    symlinkSync(join(elsewhere, 'file'), join(root, 'folder', 'a'))
    const { watch, next } = await follow(join(root, 'folder', 'a'))
    const moved = next()
    renameSync(join(root, 'folder'), join(root, 'before'))
    await moved
    mkdirSync(join(root, 'folder'))
    writeFileSync(join(root, 'folder', 'a'), '')
    await watch.refresh()
    const written = next()
    writeFileSync(join(root, 'folder', 'a'), 'more')
    await written
  })

  it('misses nothing that happens while it starts', async () => {
    const folder = makeFolder()
    for (let attempt = 0; attempt < 60; attempt++) {
      const [before, after] = [`${attempt}-before`, `${attempt}-after`]
      for (const name of [before, after]) {
        mkdirSync(join(folder, name))
        writeFileSync(join(folder, name, 'file'), '')
      }
      symlinkSync(before, join(folder, 'link'))
      const begun = follow(join(folder, 'link', 'file'))
      for (let turns = attempt % 12; turns > 0; turns--) await turn()
      symlinkSync(after, join(folder, 'new'))
      renameSync(join(folder, 'new'), join(folder, 'link'))
      const { watch, notified, next } = await begun
      const noticed = next()
      writeFileSync(join(folder, after, 'file'), 'more')
      if (notified() === 0) await noticed
      watch.close()
      unlinkSync(join(folder, 'link'))
    }
  })

  it('follows a replaced folder far above', async () => {
    const root = makeFolder()
    const path = join(root, 'far', 'away', 'config', 'file')
    for (const far of ['far', 'new']) {
      mkdirSync(join(root, far, 'away', 'config'), { recursive: true })
      writeFileSync(join(root, far, 'away', 'config', 'file'), '')
    }
    const { watch, next } = await follow(path)
    renameSync(join(root, 'far'), join(root, 'old'))
    renameSync(join(root, 'new'), join(root, 'far'))
    await watch.refresh()
    const written = next()
    writeFileSync(path, 'more')
    await written
  })

  it('ends when it is closed, even while it starts', async () => {
    const folder = makeFolder()
    const path = join(folder, 'a')
    writeFileSync(path, '')
    const first = await follow(path)
    let notified = 0
    const second = new PathWatch(path, () => {
      notified++
    })
    const beginning = second.refresh()
    first.watch.close()
    second.close()
    await beginning
    // A watch that began later is notified later.
    const third = await follow(path)
    const noticed = third.next()
    writeFileSync(path, 'more')
    await noticed
    expect([first.notified(), notified]).toEqual([0, 0])
  })
})
