#!lua flags=allow-oom
-- Every bucket of the shard waits one interval, counted from now: a process saw the clock jump, or that all that the shard
-- held was lost. What lies too far ahead where the clock was set back is brought back by the next claims. A small step
-- forward only adds to the distance from starts before it.
-- uses: shard forward loss lease
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', 'jump' | 'loss' | 'step', by how many microseconds (0: unknown), name of the process
-- Answers  now

expect_arguments(4)
local now, by = read_now(ARGV[1]), number(ARGV[3])
expect('meta')
local meta = read_meta()
note_activity(meta, now)
if ARGV[2] == 'loss' then loss.note(meta, now)
else
  forward.note(meta, now, by, ARGV[4])
  if ARGV[2] == 'step' then loss.note_step(meta, now, by, ARGV[4])
  else
    loss.note_jump(meta, now)
    -- What started after the step counts in quotas for longer by it.
    if by <= 0 or meta.hasQuotas then begin_rewind(meta) end
  end
end
return text(now)
