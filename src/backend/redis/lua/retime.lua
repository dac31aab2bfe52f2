#!lua flags=allow-oom
-- Holds buckets to the rules that govern them now; those who wait are spaced anew.
-- uses: shard bucket job line
--
-- KEYS[1]  the shard's tag
-- ARGV     version of the caller's rule book, number of buckets (1 to 200), then for each: key, pattern, capacity,
--          interval, tolerance, limit
-- Answers  { 'old-book', version } | { 'ok', buckets whose limit changed }

expect('meta', 'buckets', 'due', 'idle', 'wake')
local meta = read_meta()
local book = number(ARGV[1])
if book ~= meta.book then return { 'old-book', text(meta.book) } end
local changed = 0
for index = 1, number(ARGV[2]) do
  local at = 3 + (index - 1) * 6
  local bucket = read_bucket(ARGV[at])
  if bucket and bucket.book < book then
    read_line(bucket)
    if change_limit(bucket, read_rule(at + 1, book)) then
      changed = changed + 1
      arm(bucket, meta, bucket.inHanded > 0 and bucket.from or -INF)
    else
      write_bucket(bucket)
    end
  end
end
return { 'ok', text(changed) }
