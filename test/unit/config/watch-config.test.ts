import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, watch, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { loadConfig } from '../../../src/config/load-config.ts'
import { PathWatch } from '../../../src/config/path-watch.ts'
import { watchConfig } from '../../../src/config/watch-config.ts'
import { eventually } from '../../support/patience.ts'
import { makeFolder } from './config-folder.ts'
import { NEVER_MS, replaceFile, WatchStage } from './watch-stage.ts'

const FILE = 'velvet-rope.yaml'

function folderWith(text: string): string {
  const folder = makeFolder()
  writeFileSync(join(folder, FILE), text)
  return folder
}

/** Leads a link elsewhere in one step, as Kubernetes does. */
function swapLink(folder: string, name: string, target: string): void {
  symlinkSync(target, join(folder, `${name}.new`))
  renameSync(join(folder, `${name}.new`), join(folder, name))
}

describe('a watched file is noticed', () => {
  it('when it is written in place, again and again', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    for (const name of ['b', 'c', 'd']) {
      writeFileSync(join(cwd, FILE), `name: ${name}\n`)
      expect((await stage.next()).name).toBe(name)
    }
  })

  it('when another file is renamed over it, again and again', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    for (const name of ['b', 'c', 'd']) {
      replaceFile(cwd, `name: ${name}\n`)
      expect((await stage.next()).name).toBe(name)
    }
  })

  it('when a linked folder is switched, as Kubernetes does', async () => {
    const cwd = makeFolder()
    const put = (version: string, text: string) => {
      mkdirSync(join(cwd, version))
      writeFileSync(join(cwd, version, FILE), text)
    }
    put('..1', 'name: a\n')
    symlinkSync('..1', join(cwd, '..data'))
    symlinkSync(`..data/${FILE}`, join(cwd, FILE))
    const stage = await WatchStage.open({ cwd })
    for (const [index, name] of ['b', 'c', 'd'].entries()) {
      put(`..${index + 2}`, `name: ${name}\n`)
      swapLink(cwd, '..data', `..${index + 2}`)
      rmSync(join(cwd, `..${index + 1}`), { recursive: true })
      expect((await stage.next()).name).toBe(name)
    }
    writeFileSync(join(cwd, '..4', FILE), 'name: e\n')
    expect((await stage.next()).name).toBe('e')
  })

  it('when it is a link that is switched, and when its target changes', async () => {
    const [cwd, elsewhere] = [makeFolder(), makeFolder()]
    writeFileSync(join(elsewhere, 'one.yaml'), 'name: a\n')
    writeFileSync(join(elsewhere, 'two.yaml'), 'name: b\n')
    symlinkSync(join(elsewhere, 'one.yaml'), join(cwd, FILE))
    const stage = await WatchStage.open({ cwd })
    swapLink(cwd, FILE, join(elsewhere, 'two.yaml'))
    expect((await stage.next()).name).toBe('b')
    replaceFile(elsewhere, 'name: c\n', 'two.yaml')
    expect((await stage.next()).name).toBe('c')
  })

  it('when a link on the way to its folder is switched', async () => {
    const root = makeFolder()
    for (const name of ['a', 'b']) {
      mkdirSync(join(root, name, 'config'), { recursive: true })
      writeFileSync(join(root, name, 'config', FILE), `name: ${name}\n`)
    }
    symlinkSync('a', join(root, 'current'))
    const stage = await WatchStage.open({ cwd: join(root, 'current', 'config') })
    swapLink(root, 'current', 'b')
    expect((await stage.next()).name).toBe('b')
  })

  it('when it is removed and created again', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    unlinkSync(join(cwd, FILE))
    expect(await stage.next()).toEqual({ error: 'velvet-rope.yaml: cannot be read: no such file' })
    writeFileSync(join(cwd, FILE), 'name: b\n')
    expect((await stage.next()).name).toBe('b')
  })

  it('when its folder is replaced, or removed and created again', async () => {
    const root = makeFolder()
    const cwd = join(root, 'config')
    const put = (folder: string, text: string) => {
      mkdirSync(folder)
      writeFileSync(join(folder, FILE), text)
    }
    put(cwd, 'name: a\n')
    const stage = await WatchStage.open({ cwd })
    put(join(root, 'other'), 'name: b\n')
    renameSync(cwd, join(root, 'before'))
    renameSync(join(root, 'other'), cwd)
    expect((await stage.next()).name).toBe('b')
    rmSync(cwd, { recursive: true })
    expect((await stage.next()).error).toMatch(/no such file$/)
    put(cwd, 'name: c\n')
    expect((await stage.next()).name).toBe('c')
    replaceFile(cwd, 'name: d\n')
    expect((await stage.next()).name).toBe('d')
  })

  it('when it is created', async () => {
    const cwd = makeFolder()
    const stage = await WatchStage.open({ cwd })
    expect(stage.start.file).toBeUndefined()
    replaceFile(cwd, 'name: a\n')
    expect((await stage.next()).name).toBe('a')
  })

  it('when it changed after it was read and before it was watched', async () => {
    const cwd = folderWith('name: a\n')
    const current = await loadConfig({ cwd, env: {} })
    replaceFile(cwd, 'name: b\n')
    const changed = new Promise<string>((resolve, reject) => {
      const onChange = ({ name }: { readonly name: string }) => resolve(name)
      const watch = watchConfig({ cwd, env: {}, current, pollMs: NEVER_MS, onChange, onError: reject })
      onTestFinished(() => watch.close())
    })
    expect(await changed).toBe('b')
  })

  it('without events, a little later', async () => {
    // Nothing reports what happens behind this one: no link, and no folder that is near.
    const root = makeFolder()
    const cwd = join(root, 'far', 'away', 'config')
    mkdirSync(cwd, { recursive: true })
    writeFileSync(join(cwd, FILE), 'name: a\n')
    const stage = await WatchStage.open({ cwd, pollMs: 20 })
    mkdirSync(join(root, 'new', 'away', 'config'), { recursive: true })
    writeFileSync(join(root, 'new', 'away', 'config', FILE), 'name: b\n')
    renameSync(join(root, 'far'), join(root, 'old'))
    renameSync(join(root, 'new'), join(root, 'far'))
    let report = await stage.next()
    // Between the two renames there was none.
    if (report.error !== undefined) report = await stage.next()
    expect(report.name).toBe('b')
  })
})

describe('a watch', () => {
  it('reports the differences, and compares with the new configuration from then on', async () => {
    const cwd = folderWith("limits:\n  '*': 5, 1/s\n")
    const stage = await WatchStage.open({ cwd })
    replaceFile(cwd, "limits:\n  '*': 6, 1/s\n")
    expect((await stage.next()).changes).toEqual(['limits["*"]: 5, 1/s -> 6, 1/s'])
    replaceFile(cwd, "limits:\n  '*': 7, 1/s\n")
    expect((await stage.next()).changes).toEqual(['limits["*"]: 6, 1/s -> 7, 1/s'])
  })

  it('keeps the other layers on top of the file', async () => {
    const cwd = folderWith('name: a\ndrainMs: 1\n')
    const stage = await WatchStage.open({ cwd, env: { VELVET_ROPE_DRAIN_MS: '5' }, flags: { name: 'flag' } })
    replaceFile(cwd, 'name: b\ndrainMs: 2\nlog: {level: warn}\n')
    expect((await stage.next()).changes).toEqual(['log.level: info -> warn'])
  })

  it('reports neither other bytes with the same settings nor other files', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    replaceFile(cwd, '# a comment\nname: a\n')
    writeFileSync(join(cwd, 'other.yaml'), 'name: other\n')
    expect(await stage.watch.reload()).toBe('unchanged')
    replaceFile(cwd, 'name: b\n')
    expect((await stage.next()).name).toBe('b')
    expect(stage.left).toBe(0)
  })

  it('keeps the last good configuration, and reports where the file is broken', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    replaceFile(cwd, 'name: b\nlimits:\n  *: 5, 1/s\n')
    const error = "velvet-rope.yaml:3:3: a * begins an alias in YAML: write * in quotes, '*'"
    expect(await stage.next()).toEqual({ error })
    replaceFile(cwd, "name: c\nlimits:\n  '*': 5, 1/s\n")
    expect((await stage.next()).changes).toEqual([
      'name: a -> c (takes effect at the next start)',
      'limits["*"]: 5, 1/s (new)',
    ])
  })

  it('reports the same problem of the same file once, until the file was good again', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd })
    replaceFile(cwd, 'nam: b\n')
    expect((await stage.next()).error).toMatch(/^velvet-rope\.yaml:1:1: /)
    replaceFile(cwd, 'nam: b\n')
    expect(await stage.watch.reload()).toBe('refused')
    replaceFile(cwd, '\nnam: b\n')
    expect((await stage.next()).error).toMatch(/^velvet-rope\.yaml:2:1: /)
    replaceFile(cwd, 'name: a\n')
    expect(await stage.watch.reload()).toBe('unchanged')
    replaceFile(cwd, '\nnam: b\n')
    expect((await stage.next()).error).toMatch(/^velvet-rope\.yaml:2:1: /)
    expect(stage.left).toBe(0)
  })

  it('reports a missing file once, and keeps its settings', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd, pollMs: 5 })
    rmSync(join(cwd, FILE))
    expect((await stage.next()).error).toMatch(/no such file$/)
    expect(await stage.watch.reload()).toBe('refused')
    expect(await stage.watch.reload()).toBe('refused')
    writeFileSync(join(cwd, FILE), 'name: a\n')
    expect(await stage.watch.reload()).toBe('unchanged')
    expect(stage.left).toBe(0)
  })

  it('reads a file that is written piece by piece once it is unchanged', async () => {
    const cwd = folderWith('limits: {}\n')
    const stage = await WatchStage.open({ cwd, debounceMs: 100 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const events = watch(cwd)
    onTestFinished(() => events.close())
    const lines = ['limits:\n', '  a: 5, 1/s\n', '  b: 5, 1/s\n', '  c: 5, 1/s\n']
    for (const [index, line] of lines.entries()) {
      const event = once(events, 'change')
      writeFileSync(join(cwd, FILE), line, { flag: index === 0 ? 'w' : 'a' })
      await event
      // The watch hears of it in the same turn of the loop.
      await new Promise((resolve) => setImmediate(resolve))
      vi.advanceTimersByTime(99)
      // It waits on.
      expect(vi.getTimerCount()).toBe(1)
    }
    vi.advanceTimersByTime(100)
    expect((await stage.next()).changes).toHaveLength(3)
    expect(stage.left).toBe(0)
  })
})

describe('a reload that was asked for', () => {
  it('returns its outcome, without waiting for the file to settle', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd, debounceMs: 1_000_000 })
    expect(await stage.watch.reload()).toBe('unchanged')
    replaceFile(cwd, 'name: b\n')
    expect(await stage.watch.reload()).toBe('changed')
    expect((await stage.next()).name).toBe('b')
    replaceFile(cwd, 'name: 5\n')
    expect(await stage.watch.reload()).toBe('refused')
    expect((await stage.next()).error).toMatch(/^velvet-rope\.yaml:1:7: /)
    expect(await stage.watch.reload()).toBe('refused')
    expect(stage.left).toBe(0)
  })

  it('waits for the one before it: never two at a time', async () => {
    const cwd = folderWith('name: a\n')
    let running = 0
    let most = 0
    const onChange = async () => {
      most = Math.max(most, ++running)
      replaceFile(cwd, 'name: c\n')
      await new Promise((resolve) => setImmediate(resolve))
      running--
    }
    const stage = await WatchStage.open({ cwd, debounceMs: 1_000_000, onChange })
    replaceFile(cwd, 'name: b\n')
    const outcomes = await Promise.all([stage.watch.reload(), stage.watch.reload(), stage.watch.reload()])
    expect(outcomes).toEqual(['changed', 'changed', 'unchanged'])
    expect([(await stage.next()).name, (await stage.next()).name]).toEqual(['b', 'c'])
    expect(most).toBe(1)
  })

  it('is refused when the configuration cannot be put into force, and tried again', async () => {
    const cwd = folderWith('name: a\n')
    const faults = ['KEY is missing', 'KEY is missing']
    const onChange = () => {
      const fault = faults.shift()
      if (fault !== undefined) throw new Error(fault)
    }
    const stage = await WatchStage.open({ cwd, debounceMs: 1_000_000, onChange })
    replaceFile(cwd, 'name: b\n')
    expect([await stage.watch.reload(), await stage.watch.reload()]).toEqual(['refused', 'refused'])
    expect(await stage.next()).toEqual({ error: 'KEY is missing' })
    expect(await stage.watch.reload()).toBe('changed')
    expect((await stage.next()).changes).toEqual(['name: a -> b (takes effect at the next start)'])
    expect(stage.left).toBe(0)
  })
})

describe('a watch that was closed', () => {
  it('calls no callback any more, even for a reload under way', async () => {
    const cwd = folderWith('name: a\n')
    const current = await loadConfig({ cwd, env: {} })
    // Opening a pipe waits for a writer.
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    const calls: unknown[] = []
    const watch = watchConfig({
      cwd,
      file: 'pipe',
      env: {},
      current,
      debounceMs: 1,
      pollMs: NEVER_MS,
      onChange: (...args) => void calls.push(args),
      onError: (...args) => void calls.push(args),
    })
    const writer = await open(join(cwd, 'pipe'), 'w')
    watch.close()
    watch.close()
    await writer.writeFile('name: b\n')
    await writer.close()
    expect(await watch.reload()).toBe('unchanged')
    expect(calls).toEqual([])
  })

  it('waits for nothing', async () => {
    const cwd = folderWith('name: a\n')
    const stage = await WatchStage.open({ cwd, debounceMs: 100 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    replaceFile(cwd, 'name: b\n')
    await eventually(() => expect(vi.getTimerCount()).toBe(1))
    const ends = vi.spyOn(PathWatch.prototype, 'close')
    onTestFinished(() => ends.mockRestore())
    stage.watch.close()
    expect(vi.getTimerCount()).toBe(0)
    expect(ends).toHaveBeenCalledTimes(1)
  })
})
