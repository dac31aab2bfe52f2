#!lua
-- Admits jobs to their lines, or rejects them: judges all of them, or none; where many jobs in lines must be looked at for it, only
-- the first of them. Without `allow-oom`: a full memory rejects the call.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace name blocks next due line later sums waiting entries along passage departure verdict lateness follow notes join member summed chain total overdue share standing places above full rule
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', version of the caller's rule book, its number of shards, number of kinds, then for each kind of job: cost,
--          deadline (a duration | 'inf'), settings, pattern, capacity, interval, tolerance, warm-up, cold interval, limit (an
--          empty pattern: no rule); then for each job (1 to MOST_PER_CALL): id, key, number of its kind, traceparent | '', data
-- Answers  { 'old-book', version } | { 'shards', number } | { 'late' } | { 'conflict', id } | { 'no-limit', key }: nothing was changed
--          { 'ok', now, then for each job, or for the first of them, 'yes', departsAt, waiting, capacity, position; or
--            'again', departsAt, waiting, capacity, position, admittedAt; or reason, retryAt, waiting, capacity; or 'under', retryAt, waiting, capacity, reason, whether that
--            is an estimate, path of the total that refuses it, number of the quota that it exceeds | 0; a time
--            that is an estimate has '~' behind the word before it; or 'above', number of the quota that the job alone exceeds, waiting, capacity }

expect_arguments(5)
local now = read_now(ARGV[1])
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
expect('jobs', 'due', 'turns', 'idle', 'wake')
local meta, book = read_meta(), number(ARGV[3])
local refusal = outdated(meta, book, number(ARGV[4]))
if refusal then return refusal end

local kinds, at, are_plain = {}, 6, true
for index = 1, count(5, 10) do
  local kind = {
    cost = number(ARGV[at]), deadline = now + number_or_inf(ARGV[at + 1]), settings = ARGV[at + 2],
    -- A bucket without a rule keeps its limit for the jobs that wait, but admits no new ones.
    rule = ARGV[at + 3] ~= '' and read_rule(at + 3, book),
  }
  if usage.names_costs(kind.settings) and not usage.named(kind.settings) then refuse_arguments() end
  if kind.deadline < INF then expect('deadlines') end
  are_plain = are_plain and kind.cost == 1
  kinds['' .. index], at = kind, at + 10
end

if (#ARGV + 1 - at) % 5 ~= 0 then refuse_arguments() end
for at_kind = at + 2, #ARGV, 5 do if not kinds[ARGV[at_kind]] then refuse_arguments() end end
-- Before a bucket is read, whose freeze moves back with the clock. The lease of a new turn must not move back with those from before.
heed_clock(meta, now)

-- A repeated id is a replay of the first request with it under the same first segment, in this call or in an earlier one.
local jobs, kind_of, first_of, buckets, others, numbers, has_twins = {}, {}, {}, {}, {}, meta.numbers, false
local function known(name) return first_of[name] or read_job(name) end
for at_job = at, #ARGV, 5 do
  local id, key, kind, data = ARGV[at_job], ARGV[at_job + 1], kinds[ARGV[at_job + 2]], ARGV[at_job + 4]
  local job, name = find_job(id, key, known)
  if job then
    local has_costs = usage.costs_text(job.settings) == usage.costs_text(kind.settings)
    if job.key ~= key or job.cost ~= kind.cost or not has_costs or job.size ~= #data or data_of(job) ~= data then return { 'conflict', id } end
    -- Only to answer how many jobs wait. A new job of the same bucket reads it with its lists.
    if others[key] == nil and not buckets[key] then others[key] = read_bucket(key) or false end
  else
    if not kind.rule then return { 'no-limit', key } end
    job = {
      id = name, key = key, data = data, size = #data, traceparent = ARGV[at_job + 3], cost = kind.cost, settings = kind.settings,
      deadline = kind.deadline, admittedAt = now, position = false, departsAt = false,
    }
    first_of[name], has_twins = job, has_twins or name ~= id
    if is_turn(id) then expect('leases') end
    if job.size > LARGE then expect('data') end
    if not buckets[key] then
      local bucket = read_bucket(key)
      if bucket then
        -- Where each job costs 1 and none waits for a retry, a verdict reads no list, but what was handed over, for quotas.
        local is_plain = are_plain and bucket.waiting == bucket.inLine + bucket.inHanded and retrying(bucket) == 0
        local needs_handed = bucket.inHanded > 0 and (usage.of(bucket) or usage.has_parts(kind.rule.limit))
        if is_plain and not needs_handed then read_list(bucket, 'line') else read_line(bucket) end
      else
        if numbers == meta.numbers then expect_whole(meta) end
        numbers = numbers + 1
        bucket = new_bucket(key, numbers, kind.rule, now)
      end
      buckets[key] = bucket
    end
  end
  jobs[#jobs + 1], kind_of[#jobs + 1] = job, kind
end

-- Where jobs cost different amounts or wait for retries, a verdict looks at up to FARTHEST_LOOK of them, or twice that.
local MOST_LOOKED_AT = 250
local new_jobs, rejected, answers, n = {}, 0, { 'ok', text(now) }, 2
-- Reading all of them does not count.
usage.work = 0
for index, job in ipairs(jobs) do
  if looked_at + usage.work >= MOST_LOOKED_AT then break end
  local bucket, rule = buckets[job.key] or others[job.key], kind_of[index].rule
  local said, at_time, position, by_total = job.position and usage.is_marked(job.settings) and 'again~' or 'again', job.departsAt, job.position, nil
  if not position then
    if bucket.book < book and change_limit(bucket, rule, now) then bucket.from, bucket.isMoved = -INF, true end
    local departs_at, place, retry_at, is_estimate, exceeded, path = judge(bucket, job.cost, job.settings, job.deadline, now)
    if departs_at then
      job.position, job.departsAt, job.settings = place, departs_at, is_estimate and usage.marked(job.settings) or job.settings
      join(job, bucket, meta, now)
      if bucket.parts then usage.join(bucket, job.cost, job.settings) end
      new_jobs[#new_jobs + 1], meta.costliest = job, math.max(meta.costliest, job.cost)
      said, at_time, position = 'yes', departs_at, place
    else
      said, at_time, rejected = place, retry_at, rejected + 1
    end
    if now < meta.watchedUntil then note(meta, 'verdicts', job.key, now, VERDICT_FORMAT, bucket.waiting, said, job.id) end
    if path then said, by_total = 'under', { said, is_estimate and '1' or '0', path, exceeded or 0 }
    elseif exceeded then said, at_time = 'above', exceeded elseif is_estimate then said = said .. '~' end
  end
  if by_total then bucket = family.total(by_total[3]) end
  local limit = not by_total and rule and (not bucket or bucket.book < book) and rule or bucket
  answers[n + 1], answers[n + 2], answers[n + 3] = said, text(at_time), bucket and bucket.waiting or 0
  answers[n + 4], n = limit and text(limit.capacity) or 0, n + 4
  if position then answers[n + 1], n = position, n + 1 end
  for _, value in ipairs(by_total or {}) do answers[n + 1], n = value, n + 1 end
  if said == 'again' or said == 'again~' then answers[n + 1], n = text(job.admittedAt), n + 1 end
end
if #new_jobs > 0 then
  write_new_jobs(new_jobs, buckets, meta)
  if has_twins then redis.call('HSET', K.meta, 'twins', '1') end
  redis.call('HSET', K.meta, 'admitted', meta.admitted + #new_jobs, 'numbers', numbers, 'costliest', meta.costliest)
end
-- Once per call: a flood of rejections comes in large calls.
if rejected > 0 then redis.call('HSET', K.meta, 'rejected', meta.rejected + rejected) end
return answers
