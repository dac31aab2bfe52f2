-- Putting new jobs into their lines. A command costs more than its arguments do, so one command writes the records of all.

-- Puts the job into its line; `write_new_jobs` writes the records.
local function join(job, bucket, meta, now)
  local is_of_turn = is_turn(job.id)
  if is_of_turn and job.deadline == now then job.deadline = now + TRAVEL end
  -- Behind other jobs, a new one does not change when the first of them departs.
  if not has_line(bucket) then
    bucket.isMoved = true
    if bucket.inHanded == 0 then bucket.from = now end
  end
  job.block = push_last(bucket, member_of(job))
  if is_of_turn then
    hold_lease(meta, job.id, now + TURN_LEASE)
    bucket.turns = bucket.turns + 1
  end
  if job.deadline < INF then redis.call('ZADD', K.deadlines, job.deadline + bucket.tolerance + 1, job.id) end
  bucket.waiting = bucket.waiting + job.cost
  bucket.isChanged, bucket.order = true, nil
  if bucket.parts and bucket.parts.hasUnits then
    usage.count(bucket, job.settings, 1)
    if usage.names_costs(job.settings) then usage.remember_most(bucket, job.settings) end
  end
  if bucket.member then family.join(bucket, job) end
end

-- At least one job; `buckets` by key: unchanged ones are not written.
local function write_new_jobs(jobs, buckets, meta)
  local records, large, changed, moved = {}, {}, {}, {}
  for index, job in ipairs(jobs) do
    records[index * 2 - 1], records[index * 2] = job.id, record_of_job(job)
    if job.size > LARGE then large[#large + 1], large[#large + 2] = job.id, job.data end
  end
  redis.call('HSET', K.jobs, unpack(records))
  if #large > 0 then redis.call('HSET', K.data, unpack(large)) end
  for _, bucket in pairs(buckets) do
    if bucket.isChanged then changed[#changed + 1] = bucket end
    if bucket.isChanged and bucket.isMoved then moved[#moved + 1] = bucket end
  end
  schedule_all(moved, meta)
  if #changed > 0 then write_buckets(changed) end
end
