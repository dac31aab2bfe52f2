#!lua flags=no-writes
-- The first jobs of a bucket's line, in the order of departure as far as it is known.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks line sums waiting entries member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key, how many jobs (1 to 200)
-- Answers  { } when the bucket is unknown
--          | { how many there are, then for each: id, cost, state, admittedAt, readyAt | '-inf', its named costs as JSON | '' }

expect_arguments(3)
local now, most = read_now(ARGV[1]), whole(ARGV[3])
local bucket = read_bucket(ARGV[2])
if not bucket then return {} end
read_line(bucket)

local order = entries.first(bucket, now, most)
if bucket.granted ~= '' then table.insert(order, 1, { id = bucket.granted, cost = bucket.grantedCost }) end
-- Jobs that were given back come right after those that were handed over.
local given_back = bucket.inHanded + bucket.inBack

local answer, n = { text(bucket.inLine + bucket.inHanded + retrying(bucket)) }, 1
for index = 1, math.min(most, #order) do
  local entry = order[index]
  local job = read_job(entry.id)
  -- A job whose record is lost is left out.
  if job then
    local is_returned = entry.readyAt or index <= given_back
    answer[n + 1], answer[n + 2] = entry.id, text(entry.cost)
    answer[n + 3] = index <= bucket.inHanded and 'handed' or is_returned and 'retrying' or 'waiting'
    answer[n + 4], answer[n + 5], answer[n + 6] = text(job.admittedAt), text(entry.readyAt or -INF), usage.named(job.settings) and usage.costs_text(job.settings) or ''
    n = n + 6
  end
end
return answer
