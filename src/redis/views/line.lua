#!lua flags=no-writes
-- The first jobs of a bucket's line, in the order of departure as far as it is known.
-- uses: shard forward job warmth quota calendar usage stored charge bucket pace blocks line waiting order
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key, how many jobs (1 to 200)
-- Answers  { } when the bucket is unknown
--          | { how many there are, then for each: id, cost, state, admittedAt, readyAt | '-inf' }

expect_arguments(3)
local now, most = read_now(ARGV[1]), whole(ARGV[3])
local bucket = read_bucket(ARGV[2])
if not bucket then return {} end
read_line(bucket)

local order = in_order(bucket, now, most)
if bucket.granted ~= '' then table.insert(order, 1, { id = bucket.granted, cost = bucket.grantedCost }) end
-- Jobs that were given back come right after those that were handed over.
local given_back = bucket.inHanded + bucket.inBack

local answer, n = { text(bucket.inLine + bucket.inHanded + retrying(bucket)) }, 1
for index = 1, math.min(most, #order) do
  local entry = order[index]
  local admitted_at = read_admission(entry.id)
  -- A job whose record is lost is left out.
  if admitted_at then
    local is_returned = entry.readyAt or index <= given_back
    answer[n + 1], answer[n + 2] = entry.id, text(entry.cost)
    answer[n + 3] = index <= bucket.inHanded and 'handed' or is_returned and 'retrying' or 'waiting'
    answer[n + 4], answer[n + 5] = text(admitted_at), text(entry.readyAt or -INF)
    n = n + 5
  end
end
return answer
