#!lua flags=allow-oom
-- Applies the rules in force to buckets, and to totals that count nothing; departures of waiting jobs are computed again.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting member summed chain total overdue share standing places rule
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', version of the caller's rule book, whether these are the last ('1' | '0'), number of them (0 to 100), then
--          for each: key or path, pattern, capacity, interval, tolerance, warm-up, cold interval, limit
-- Answers  { 'old-book', version } | { 'ok', how many have another limit now }

local now, buckets = read_now(ARGV[1]), count(4, 8)
expect_numbers(5, 8, buckets, 2, 3, 4, 5, 6)
expect('meta', 'buckets', 'due', 'turns', 'idle', 'wake')
local meta = read_meta()
local book = number(ARGV[2])
if book ~= meta.book then return { 'old-book', text(meta.book) } end
local changed = 0

local function counts_nothing(total) return total.waiting == 0 and total.running == 0 and total.inHanded == 0 end

-- Whether no total of the chain would move below another one with what it counts.
local function stays(chain)
  local above = ''
  for _, path in ipairs(family.chain_of(chain).paths) do
    local total = family.total(path)
    if total and total.parent ~= above and not counts_nothing(total) then return false end
    above = path
  end
  return true
end

for index = 1, buckets do
  local at = 5 + (index - 1) * 8
  -- What cannot be read must not hold up the others; a verb that names it raises the error.
  local is_below = is_total(ARGV[at])
  local is_readable, bucket = pcall(is_below and family.total or read_bucket_and_line, ARGV[at])
  if is_below then
    -- One that counts something follows with its buckets, which may change their places below it.
    if is_readable and bucket and counts_nothing(bucket) and bucket.book < book then
      local chain = read_rule(at + 1, book).chain
      local is_known, is_still = pcall(stays, chain)
      if is_known and is_still and pcall(family.keep_chain, chain, book, now) then changed = changed + 1 end
    end
  elseif is_readable and bucket and bucket.book < book then
    -- Writing the bucket also adds it to the set `fill`, which an older version did not keep.
    bucket.fill = false
    if change_limit(bucket, read_rule(at + 1, book), now) then
      changed = changed + 1
      reschedule_from(bucket, meta, bucket.inHanded > 0 and bucket.from or -INF)
    else
      write_bucket(bucket)
    end
  end
end
if ARGV[3] == '1' then redis.call('HSET', K.meta, 'retimed', book) end
return { 'ok', text(changed) }
