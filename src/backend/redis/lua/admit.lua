#!lua
-- Admits jobs to their lines, or refuses them: all of them judged, none half done. Without `allow-oom`: a full memory refuses it.
-- uses: shard bucket job line order verdict
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', version of the caller's rule book, keepFinished, number of jobs (1 to 200), then
--          for each: id, key, cost, deadline (a duration | 'inf'), settings, data, pattern, capacity, interval,
--          tolerance, limit
-- Answers  { 'old-book', version } | { 'late' } | { 'conflict', id } | { 'no-limit', key }: nothing was
--          changed
--          { 'ok', now, { 'yes', position, departsAt, admittedAt, isReplay } | { 'no', reason, retryAt, waiting, capacity }, ... }

local now = read_now(ARGV[1])
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'idle', 'deadlines', 'wake')
local meta = read_meta()
local book, count = number(ARGV[3]), number(ARGV[5])
if book ~= meta.book then return { 'old-book', text(meta.book) } end

local requests, buckets, by_id = {}, {}, {}
for index = 1, count do
  local at = 6 + (index - 1) * 11
  local id, key = ARGV[at], ARGV[at + 1]
  local request = {
    id = id, key = key, cost = number(ARGV[at + 2]), deadline = now + number(ARGV[at + 3]),
    settings = ARGV[at + 4], data = ARGV[at + 5],
  }
  local known = by_id[id] or read_job(id)
  if known then
    if known.key ~= key or known.cost ~= request.cost or known.data ~= request.data then return { 'conflict', id } end
    request.known = known
  else
    by_id[id] = request
  end
  -- A bucket that no rule governs any more keeps its limit for those who wait, but nobody new comes in.
  if not known and ARGV[at + 6] == '' then return { 'no-limit', key } end
  if not known and not buckets[key] then
    local bucket = read_bucket(key) or new_bucket(key, nil, read_rule(at + 6, book))
    if bucket.n then read_line(bucket)
    else bucket.inLine, bucket.inHanded, bucket.inRetry, bucket.inBack = 0, 0, 0, 0 end
    buckets[key] = bucket
  end
  requests[index] = request
end

local answers = { 'ok', text(now) }
local admitted = 0
for index, request in ipairs(requests) do
  local bucket, known = buckets[request.key], request.known
  if known and not known.position then known = known.told end
  if known then
    answers[index + 2] = { 'yes', text(known.position), text(known.departsAt), text(known.admittedAt), '1' }
  else
    request.known = nil
    if bucket.book < book and change_limit(bucket, read_rule(12 + (index - 1) * 11, book)) then bucket.from = -INF end
    local departs_at, position, retry_at = judge(bucket, request.cost, request.deadline, now)
    if not departs_at then
      answers[index + 2] = { 'no', position, text(retry_at), text(bucket.waiting), text(bucket.capacity) }
    else
      if not bucket.n then bucket.n = redis.call('HINCRBY', K.meta, 'numbers', 1) end
      local job = {
        id = request.id, key = request.key, cost = request.cost, admittedAt = now,
        deadline = request.deadline, settings = request.settings, data = request.data, position = position,
        departsAt = departs_at,
      }
      local found_nobody = not has_line(bucket) and bucket.inHanded == 0
      write_job(job)
      redis.call('RPUSH', K.line .. bucket.n, member_of(job))
      bucket.inLine = bucket.inLine + 1
      bucket.waiting = bucket.waiting + job.cost
      if job.deadline ~= INF then redis.call('ZADD', K.deadlines, job.deadline + bucket.tolerance + 1, job.id) end
      if found_nobody then bucket.from = now end
      bucket.isChanged = true
      by_id[job.id].told = job
      admitted = admitted + 1
      answers[index + 2] = { 'yes', text(position), text(departs_at), text(now), '0' }
    end
  end
end
for _, bucket in pairs(buckets) do
  if bucket.isChanged then place(bucket, meta) end
end
if admitted > 0 then redis.call('HINCRBY', K.meta, 'admitted', admitted) end
return answers
