#!lua flags=allow-oom
-- Every bucket of the shard waits one interval, counted from now: a process saw the clock jump, or that all that the shard
-- held was lost. Where the clock was set back, what lies further ahead than it can is brought back, one page of buckets
-- after the other. A small step forward only adds to the distance from starts before it.
-- uses: shard loss lease warmth bucket pace blocks line
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins), 'jump' | 'loss' | 'step', length of the step in microseconds
-- Answers  { now, next cursor ('0': that was all) }

local now = read_now(ARGV[1])
expect('meta', 'buckets', 'due', 'turns', 'idle', 'wake')
local meta = read_meta()
hear(meta, now)
if ARGV[3] == 'step' then
  note_step(meta, now, number(ARGV[4]))
  return { text(now), '0' }
end
if ARGV[2] == '0' and ARGV[3] == 'loss' then note_loss(meta, now, ANY_COST)
elseif ARGV[2] == '0' then redis.call('HSET', K.meta, 'quarantine', now) end
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', 200)
for index = 1, #page[2], 2 do
  local is_readable, bucket = pcall(read_bucket, page[2][index])
  if is_readable and bucket then
    read_line(bucket)
    local farthest = farthest_next(bucket, now)
    bucket.from = math.min(bucket.from, now)
    bucket.lastStart = math.min(bucket.lastStart, now)
    if bucket.next > farthest then bucket.next, bucket.carry = farthest, 0 end
    place(bucket, meta)
  end
end
return { text(now), page[1] }
