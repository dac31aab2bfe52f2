import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The tests of verbs last: each of their files takes a moment, so all workers end at about the same time. A file that takes
 * half a minute, begun among the last, would leave the other workers idle for as long.
 */
export default class QuickLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isQuick = (file: TestSpecification) => file.moduleId.includes('/test/conformance/')
    return [...sorted.filter((file) => !isQuick(file)), ...sorted.filter(isQuick)]
  }
}
